"""What a screen reader gets: Chromium's accessibility tree, and changes of live regions as they are announced."""

import re

INTERACTIVE = {
    "button", "link", "textbox", "searchbox", "checkbox", "combobox", "listbox", "option", "tab", "menuitem", "radio", "slider", "spinbutton", "switch", "DisclosureTriangle",
    "menuitemcheckbox", "menuitemradio", "treeitem",
}
# Text with a frame of its own, that the keyboard scrolls.
SCROLLED = {"generic", "group", "region", "none", "Pre"}
# Roles that say nothing about what an element does.
MUTE = {"generic", "none", "presentation", "GenericContainer"}

# Keeps every text that a live region in the page gets, and whether the region was in the page before: otherwise nobody announces it.
LISTEN = """() => {
  window.__said = [];
  window.__listener?.disconnect();
  const live = '[aria-live=polite], [aria-live=assertive], [role=status], [role=alert]';
  const known = new Set(document.querySelectorAll(live));
  window.__listener = new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      const place = (target.nodeType === 1 ? target : target.parentElement)?.closest(live);
      if (place && known.has(place) && addedNodes.length) window.__said.push(place.innerText);
      // An alert is announced when it appears.
      for (const node of addedNodes) if (node.nodeType === 1) for (const alert of [node, ...node.querySelectorAll('[role=alert]')]) if (alert.matches('[role=alert]')) window.__said.push(alert.innerText);
    }
  });
  window.__listener.observe(document, { childList: true, subtree: true, characterData: true });
}"""


class Node:
    def __init__(self, raw):
        self.id, self.children = raw["nodeId"], raw.get("childIds", [])
        self.role = raw.get("role", {}).get("value", "")
        self.name = (raw.get("name", {}).get("value") or "").strip()
        self.ignored = raw.get("ignored", False)
        self.of = {one["name"]: one["value"].get("value") for one in raw.get("properties", [])}

    def __repr__(self):
        return f"{self.role} “{self.name[:60]}”"


def tree(page):
    """Returns the nodes of the tree in the order of the document."""
    session = page.context.new_cdp_session(page)
    try:
        nodes = [Node(raw) for raw in session.send("Accessibility.getFullAXTree")["nodes"]]
    finally:
        session.detach()
    known, ordered = {node.id: node for node in nodes}, []
    waiting = [nodes[0].id]
    while waiting:
        node = known.get(waiting.pop())
        if node:
            ordered.append(node)
            waiting.extend(reversed(node.children))
    return ordered


def names(page, where):
    """Everything that one can act on or move to has a role and a name, headings do not skip a level, and there is one of each landmark."""
    nodes = [node for node in tree(page) if not node.ignored]
    # Behind a dialog everything is hidden.
    assert len(nodes) > (5 if any(node.role == "dialog" for node in nodes) else 20), f"{where}: the tree was not read"
    problems = [f"no name: {node}" for node in nodes if node.role in INTERACTIVE and not node.name]
    for node in nodes:
        if node.of.get("focusable") and not node.of.get("modal") and node.role in MUTE:
            problems.append(f"can be reached and has no role: {node}")
        if node.of.get("focusable") and node.role not in INTERACTIVE and node.role not in {"RootWebArea", "heading", "dialog", "main"} and not node.name:
            problems.append(f"can be reached and has no name: {node}")
        if node.role in {"image", "img", "Canvas", "figure"} and not node.name and not node.children:
            problems.append(f"a picture without a name: {node}")
    # A name that only repeats the role says nothing.
    problems += [f"a name that says nothing: {node}" for node in nodes if node.role in INTERACTIVE and re.fullmatch(r"[\W_]+", node.name or "-")]
    dialog = next((node for node in nodes if node.role == "dialog"), None)
    if dialog:
        if not dialog.name:
            problems.append("a dialog without a name")
    else:
        levels = [(node.of.get("level"), node.name) for node in nodes if node.role == "heading"]
        if [level for level, _ in levels].count(1) != 1:
            problems.append(f"not one title: {[name for level, name in levels if level == 1]}")
        if levels and levels[0][0] != 1:
            problems.append(f"the first heading is not the title: {levels[0]}")
        problems += [f"a level is skipped before {name!r}: {levels}" for (above, _), (level, name) in zip(levels, levels[1:]) if level > above + 1]
        for landmark in ["main", "banner"]:
            if sum(node.role == landmark for node in nodes) != 1:
                problems.append(f"not one {landmark}")
        unnamed = [node for node in nodes if node.role == "navigation" and not node.name]
        problems += [f"navigation without a name: {node}" for node in unnamed]
    assert not problems, f"{where}: {problems[:8]}"


def listen(page):
    page.evaluate(LISTEN)


def said(page, text):
    """Waits until a live region says this."""
    for _ in range(100):
        told = page.evaluate("window.__said")
        if any(re.search(text, one) for one in told):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"nothing announces {text!r}, only {told}")
