"""The dashboard of `nacre serve` in a real browser: every view in both themes on a large and a small screen, each view's main acts,
once through with the keyboard alone, and hostile content.

    python page.py NACRE CHROMIUM [FOLDER FOR SCREENSHOTS]

Prints a line `ok …` or `FAILED …` for each test."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

import axe_playwright_python
from playwright.sync_api import expect, sync_playwright

from served import HOSTILE, Served
from tree import listen, names, said, tree

NACRE, CHROMIUM = sys.argv[1], sys.argv[2]
SHOTS = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp())
SHOTS.mkdir(parents=True, exist_ok=True)

HERE = pathlib.Path(__file__).parent
LAYOUT = (HERE / "layout.js").read_text().split("\n", 2)[2]
AXE = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
VIOLATIONS = """async () => (await axe.run(document, { resultTypes: ['violations'] })).violations.map((found) =>
    `${found.id}: ${found.nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', ')}`)"""

VIEWS = [
    "home", "memory", "memory?q=staging%20database", "memory?q=zzzz%20qqqq", "entry/1", "entry/4", "approvals", "approvals/1", "approvals/3", "sessions", "sessions/talk-1",
    "graph", "graph?about=Osprey", "timeline", "files", "files/memory/topics/heron.md", "tasks", "health",
]


class Watch:
    """A page that must never run stored text, ask another server or break its own rules."""

    def __init__(self, context, served, address=None):
        self.page, self.wrong = context.new_page(), []
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("pageerror", lambda error: self.wrong.append(f"error {error}"))
        self.page.on("console", lambda line: self.wrong.append(f"console {line.text}") if line.type == "error" else None)
        self.page.on("request", lambda request: self.wrong.append(f"request {request.url}") if not request.url.startswith(served.url) else None)
        self.page.add_init_script("addEventListener('securitypolicyviolation', (e) => { (window.__broken ??= []).push(e.violatedDirective + ' ' + e.blockedURI); });")
        self.page.goto(served.link() + (f"#/{address}" if address else ""))
        self.page.wait_for_selector(".room[data-ready]")

    def go(self, place):
        self.page.evaluate("""(hash) => {
            document.querySelector('.room').removeAttribute('data-ready');
            if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange')); else location.hash = hash;
        }""", f"#/{place}")
        self.page.wait_for_selector(f".room.{re.split('[/?]', place)[0]}[data-ready]")

    def forgive(self, status):
        """A refused request is told by the browser too."""
        self.wrong = [one for one in self.wrong if f"status of {status}" not in one]

    def check(self):
        assert self.page.evaluate("window.__pwned") is None, "something ran"
        broken = self.page.evaluate("window.__broken ?? []")
        assert not broken, f"the policy was broken: {broken}"
        assert not self.wrong, self.wrong


def readable(page, where):
    problems = page.evaluate(LAYOUT)
    assert not problems, f"{where}: {problems}"


def accessible(page, where):
    page.evaluate(f"{AXE}\n;0")
    violations = page.evaluate(VIOLATIONS)
    assert not violations, f"{where}: {violations}"


def toast(page, text):
    expect(page.locator("#toasts")).to_contain_text(text)


def undo(page):
    page.locator("#toasts").get_by_role("button", name="Undo").last.click()


def every_view(browser, served, theme, width):
    """A view on one screen: nothing is cut off or overlaps, axe finds nothing, the console stays silent."""
    phone = dict(has_touch=True, is_mobile=True, device_scale_factor=2) if width < 600 else {}
    context = browser.new_context(viewport=dict(width=width, height=844 if phone else 900), color_scheme=theme, **phone)
    watch = Watch(context, served)
    problems = []
    for view in VIEWS:
        watch.go(view)
        # The layout of the graph comes to rest, and the preview follows the current hit.
        watch.page.wait_for_timeout(900 if view.startswith("graph") else 300)
        name = re.sub(r"\W+", "-", view)
        watch.page.screenshot(path=SHOTS / f"{theme}-{width}-{name}.png")
        for check in [readable, accessible]:
            try:
                check(watch.page, f"{theme} {width} {view}")
            except AssertionError as problem:
                problems.append(str(problem))
    watch.check()
    context.close()
    assert not problems, "\n".join(problems)


def other_widths(browser, served):
    """Between and beyond the usual screens the text stays readable."""
    problems = []
    for width in [600, 861, 1099, 1101, 2560]:
        context = browser.new_context(viewport=dict(width=width, height=900))
        watch = Watch(context, served)
        for view in VIEWS:
            watch.go(view)
            watch.page.wait_for_timeout(200)
            try:
                readable(watch.page, f"{width} {view}")
            except AssertionError as problem:
                problems.append(str(problem))
        watch.check()
        context.close()
    assert not problems, "\n".join(problems)


def dialogs(watch, served):
    """Dialogs are readable and accessible too, and go away with Esc."""
    page = watch.page
    watch.go("home")
    page.evaluate("document.activeElement.blur()")
    for key in ["?", "c", "Control+k"]:
        page.keyboard.press(key)
        expect(page.locator("dialog")).to_be_visible()
        page.wait_for_timeout(200)
        readable(page, key)
        accessible(page, key)
        # In the palette Esc closes at once, with a text, too.
        page.keyboard.type("ha")
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)


def home(watch, served):
    page = watch.page
    watch.go("home")
    expect(page.locator(".sees")).to_contain_text("tokens")
    expect(page.locator(".sees .legend")).to_contain_text("MEMORY.md")
    page.get_by_text("Show the text").click()
    expect(page.locator(".sees pre")).to_contain_text("The boat is red.")
    expect(page.locator(".waits")).to_contain_text("3 changes wait")
    expect(page.locator(".changed")).to_contain_text("The harbour office opens at eight")
    expect(page.locator(".changed")).to_contain_text("You stored 11 memories")
    expect(page.locator(".tokens svg")).to_be_visible()
    expect(page.locator(".tokens")).to_contain_text("12 searches")
    answered = re.search(r"Answered: ([\d,.]+) by tools", page.locator(".tokens").inner_text())
    assert answered and int(re.sub(r"\D", "", answered[1])) > 0, page.locator(".tokens").inner_text()
    expect(page.locator(".agents")).to_contain_text("Claude Code")
    expect(page.locator(".agents")).to_contain_text("hooks ran")


def focused(browser, served):
    """The search box has the focus when Memory opens, from an address and from another view."""
    context = browser.new_context(viewport=dict(width=1280, height=820))
    watch = Watch(context, served, "memory")
    expect(watch.page.locator("input[name=q]")).to_be_focused()
    watch.go("home")
    expect(watch.page.locator("h1")).to_be_focused()
    watch.go("memory")
    expect(watch.page.locator("input[name=q]")).to_be_focused()
    watch.check()
    context.close()


def find(watch, served):
    page = watch.page
    watch.go("memory")
    page.keyboard.type("staging database")
    expect(page.locator(".hit").first).to_contain_text("staging database")
    expect(page.locator(".hit mark").first).to_be_visible()
    expect(page.locator(".preview .content")).to_be_visible()
    expect(page.locator(".preview .why")).to_contain_text("same words")
    expect(page.locator(".hit mark", has_text="database").first).to_be_visible()
    page.locator(".hit", has_text="Heron is the staging database").first.click()
    expect(page.locator(".preview .card h2")).to_have_text("What it is")
    expect(page.locator(".chip", has_text="Documents").locator(".chip-count")).not_to_be_empty()
    page.select_option("select[aria-label=Type]", "instruction")
    page.fill("input[name=q]", "")
    expect(page.locator(".hit").first).to_contain_text("force-push")
    page.select_option("select[aria-label=Age]", "7")
    expect(page.locator(".hit").first).to_be_visible()


def places(watch, served):
    """A memory named the session that stored it as its place, and the number of a list item was the title of a document."""
    page = watch.page
    watch.go("memory?q=staging%20database")
    expect(page.locator(".hit").first).to_contain_text("staging database")
    page.locator(".weaker").click()
    assert "conversation" not in page.locator(".hits").inner_text(), page.locator(".hits").inner_text()
    titles = [title.strip() for title in page.locator(".hit .text").all_inner_texts()]
    assert not [title for title in titles if re.fullmatch(r"\d+\.?", title)], titles
    expect(page.locator("select[aria-label=Type] option", has_text="fact")).to_have_text(re.compile(r"fact \([1-9]"))


def typing(watch, served):
    """Keys that follow each other quickly share their searches, and the last text always wins."""
    page, asked = watch.page, []
    watch.go("memory")
    expect(page.locator(".hit").first).to_be_visible()
    heard = lambda request: asked.append(json.loads(request.post_data)["query"]) if request.url.endswith("memory_search") else None
    page.on("request", heard)
    page.evaluate("""() => { const box = document.querySelector('input[name=q]');
        for (const text of ['h', 'ha', 'har', 'harb', 'harbo', 'harbour']) { box.value = text; box.dispatchEvent(new Event('input')); } }""")
    expect(page.locator(".hit").first).to_contain_text("harbour")
    expect(page.locator(".hit mark").first).to_have_text("harbour")
    page.remove_listener("request", heard)
    assert asked[-1] == "harbour" and len(asked) <= 3, asked
    assert page.url.endswith("q=harbour"), page.url


def weaker(watch, served):
    """Hits that match much less than the best one are folded."""
    page = watch.page
    watch.go("memory?q=staging%20database%20port%20heron%20Lübeck")
    expect(page.locator(".weaker")).to_contain_text("weaker")
    shown = page.locator(".hit:visible").count()
    page.locator(".weaker").click()
    assert page.locator(".hit:visible").count() > shown


def store(watch, served):
    page = watch.page
    watch.go("memory")
    page.get_by_role("button", name="New memory").click()
    page.fill("dialog textarea", "The lighthouse keeper is called Jonas")
    page.fill("dialog input[name=tags]", "harbour, people")
    page.get_by_role("button", name="Save").click()
    toast(page, "Stored as #")
    expect(page.locator(".hit").first).to_contain_text("lighthouse keeper")
    stored = served.tool("memory_search", query="lighthouse keeper", limit=1)["hits"][0]
    assert stored["tags"] == ["harbour", "people"], stored


def correct(watch, served):
    page = watch.page
    watch.go("entry/1")
    page.get_by_role("button", name="Edit").click()
    page.fill("textarea", "Petra prefers green tea in the morning")
    page.get_by_role("button", name="Save").click()
    toast(page, "Saved")
    expect(page.locator(".content")).to_have_text("Petra prefers green tea in the morning")
    expect(page.locator(".version")).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("by you")
    page.get_by_role("button", name="Helpful", exact=True).click()
    toast(page, "It now ranks higher")
    expect(page.locator(".score")).to_have_text("usefulness 3")
    page.get_by_role("button", name="Not helpful").click()
    toast(page, "It now ranks lower")
    assert served.tool("memory_get", id=1)["score"] < 3
    watch.go("entry/4")
    expect(page.locator(".banner")).to_contain_text("Replaced by #11")
    expect(page.locator(".chain")).to_contain_text("opens at eight")


def delete(watch, served):
    """Deleting asks with the focus on Cancel, and can be undone until the text is erased."""
    page = watch.page
    watch.go("entry/3")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Delete")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("dialog")).to_have_count(0)
    assert "linter" in served.tool("memory_get", id=3)["content"], "Enter must not delete"
    page.get_by_role("button", name="Delete").click()
    page.locator("dialog").get_by_role("button", name="Delete").click()
    toast(page, "Deleted memory #3")
    page.wait_for_selector(".room.memory[data-ready]")
    expect(page.locator(".hits")).not_to_contain_text("linter")
    undo(page)
    page.wait_for_selector(".room.entry[data-ready]")
    assert "linter" in served.tool("memory_get", id=3)["content"]
    page.get_by_role("button", name="Delete").click()
    page.locator("dialog").get_by_role("button", name="Delete").click()
    page.wait_for_selector(".room.memory[data-ready]")
    # Whoever leaves the page has made up their mind.
    page.reload()
    page.wait_for_selector(".room[data-ready]")
    assert "linter" not in json.dumps(served.tool("memory_search", query="linter")["hits"])


def bulk(watch, served):
    page = watch.page
    watch.go("memory?q=Lübeck&in=entries")
    for check in page.locator(".hit input[type=checkbox]").all()[:2]:
        check.check()
    expect(page.locator(".bulk")).to_contain_text("2 selected")
    page.fill(".bulk input", "port")
    page.locator(".bulk").get_by_role("button", name="Tag").click()
    toast(page, "Tagged 2 memories")
    assert len(served.tool("memory_search", tags=["port"])["hits"]) == 2
    undo(page)
    page.wait_for_timeout(500)
    assert len(served.tool("memory_search", tags=["port"])["hits"]) == 0


def approve(watch, served):
    """The left side is the file as it is now; an approval can be undone; two changes of a file go together."""
    page, file = watch.page, served.home / "groups/main/MEMORY.md"
    watch.go("approvals/1")
    expect(page.locator("#rail .count")).to_have_text("3")
    expect(page.locator(".diff")).to_contain_text("The boat is red.")
    page.get_by_role("button", name="Approve", exact=True).click()
    toast(page, "MEMORY.md was written")
    assert "boat is blue" in file.read_text()
    expect(page.locator("#rail .count")).to_have_text("2")
    # The second change was proposed before the first was approved.
    watch.go("approvals/2")
    expect(page.locator(".detail .banner")).to_contain_text("keeps both changes")
    shown = page.locator(".detail > .diff").inner_text()
    assert "Mikkel mended" in shown and "boat is red" not in shown, shown
    page.get_by_text("What changed in the file since then").click()
    expect(page.locator(".detail details").first).to_contain_text("The boat is blue.")
    undo(page)
    toast(page, "undone")
    assert "boat is red" in file.read_text()
    page.locator("#toasts .toast").evaluate_all("(all) => all.forEach((one) => one.remove())")


def conflict(watch, served):
    """Where both sides changed, three parts show it, and the result keeps both."""
    page, file = watch.page, served.home / "groups/main/MEMORY.md"
    file.write_text(file.read_text().replace("The mast is new.", "The mast is old."))
    watch.go("approvals/2")
    expect(page.locator(".detail .banner")).to_contain_text("keeps both changes")
    expect(page.locator(".detail details")).to_have_count(2)
    page.get_by_text("What changed in the file since then").click()
    expect(page.locator(".detail details").first).to_contain_text("The mast is old.")
    page.get_by_role("button", name="Approve", exact=True).click()
    toast(page, "MEMORY.md was written")
    assert "mast is old" in file.read_text() and "Mikkel mended" in file.read_text()


def amend(watch, served):
    page = watch.page
    watch.go("approvals/3")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.fill("textarea", "# User\n\n- Likes green tea.\n")
    page.get_by_role("button", name="Approve with these changes").click()
    toast(page, "USER.md was written")
    assert (served.home / "groups/main/USER.md").read_text() == "# User\n\n- Likes green tea.\n"


def by_hand(watch, served):
    """Changes at the same place are merged by hand, starting from the current file."""
    page, file = watch.page, served.home / "groups/main/USER.md"
    number = served.propose("USER.md", "said again", mode="edit", old="Likes green tea.", content="Likes mint tea.")["proposal"]
    file.write_text("# User\n\n- Likes cocoa.\n")
    watch.go(f"approvals/{number}")
    expect(page.locator(".detail .banner")).to_contain_text("at the same place")
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
    readable(page, "conflict")
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(page.locator("textarea")).to_have_value("# User\n\n- Likes cocoa.\n")
    page.fill("textarea", "# User\n\n- Likes cocoa and mint tea.\n")
    # A file that changes while the user types is not replaced, and the text stays.
    file.write_text("# User\n\n- Likes milk.\n")
    page.get_by_role("button", name="Approve with these changes").click()
    toast(page, "has changed in the meantime")
    expect(page.locator("textarea")).to_have_value("# User\n\n- Likes cocoa and mint tea.\n")
    file.write_text("# User\n\n- Likes cocoa.\n")
    page.get_by_role("button", name="Approve with these changes").click()
    # The toast of an earlier approval may still be there; the editor closes when this one is done.
    expect(page.locator("textarea")).to_have_count(0)
    assert "cocoa and mint tea" in file.read_text()
    watch.forgive(409)
    file.write_text("# User\n\n- Likes green tea.\n")


def deny(watch, served):
    page = watch.page
    served.propose("SOUL.md", "once", content="# Soul\n\n- Calm.\n")
    watch.go("approvals")
    expect(page.locator(".detail h2")).to_have_text("SOUL.md")
    page.get_by_role("button", name="Deny", exact=True).click()
    expect(page.locator(".room")).to_contain_text("Nothing waits for you")
    undo(page)
    expect(page.locator(".detail h2")).to_have_text("SOUL.md")
    page.get_by_role("button", name="Deny", exact=True).click()
    page.reload()
    page.wait_for_selector(".room.approvals[data-ready]")
    expect(page.locator(".room")).to_contain_text("Nothing waits for you")
    newest = max(served.tool("proposal_list", all=True)["proposals"], key=lambda one: one["number"])
    assert (newest["target"], newest["state"]) == ("SOUL.md", "denied"), newest


def lessons(watch, served):
    """A lesson from one correction waits among the approvals; it is confirmed, or removed with undo."""
    page = watch.page
    for session, text in [("talk-7", "Don't mock the database in unit tests."), ("talk-8", "Please never use the formal De.")]:
        served.run("--session", session, "turn", text, "--answer", "Understood.")
    watch.go("home")
    expect(page.locator(".waits")).to_contain_text("2 lessons wait for you")
    watch.go("approvals/lesson-1")
    expect(page.locator(".detail .content")).to_have_text("Don't mock the database in unit tests.")
    for width, height in [(390, 844), (1280, 820)]:
        page.set_viewport_size(dict(width=width, height=height))
        readable(page, f"lesson at {width} px")
        accessible(page, f"lesson at {width} px")
    page.screenshot(path=SHOTS / "light-1280-lesson.png")
    page.get_by_role("button", name="Confirm", exact=True).click()
    toast(page, "agents follow it from now on")
    expect(page.locator(".detail .content")).to_contain_text("formal De")
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.locator(".room")).to_contain_text("Nothing waits for you")
    undo(page)
    expect(page.locator(".detail .content")).to_contain_text("formal De")
    page.get_by_role("button", name="Remove", exact=True).click()
    page.reload()
    page.wait_for_selector(".room.approvals[data-ready]")
    expect(page.locator(".room")).to_contain_text("Nothing waits for you")
    left = [(one["text"], one["state"]) for one in served.tool("lesson_list")["lessons"]]
    assert left == [("Don't mock the database in unit tests.", "confirmed")], left


def stale(watch, served):
    """A memory that nobody used for half a year is listed on Home until somebody finds it helpful."""
    page = watch.page
    served.run("--now", "2025-03-01T10:00:00Z", "store", "The harbour master is called Ingrid")
    watch.go("home")
    page.locator(".waits summary").click()
    readable(page, "stale memories")
    accessible(page, "stale memories")
    page.locator(".waits .stale a", has_text="harbour master").click()
    page.get_by_role("button", name="Helpful", exact=True).click()
    toast(page, "It now ranks higher")
    watch.go("home")
    expect(page.locator(".waits")).not_to_contain_text("unused for half a year")


def shown(watch, served):
    """An answer tells which memories were shown before it and whether it mentions them."""
    page = watch.page
    say = lambda role, text: served.tool("session_append", id="talk-9", messages=[dict(role=role, content=text)])
    question = "Which port does the staging database use?"
    say("user", question)
    served.run("--session", "talk-9", "turn", question)
    say("assistant", "It was moved to port 5433.")
    watch.go("sessions/talk-9")
    page.locator(".shown summary").first.click()
    expect(page.locator(".shown li", has_text="5433").first).to_contain_text("mentioned in the answer")
    say("user", "Thanks.")
    say("assistant", "You are welcome.")
    watch.go("sessions/talk-9")
    expect(page.locator(".message")).to_have_count(4)
    # The two questions are a moment apart: what was shown before the first was listed below the second answer, too.
    expect(page.locator(".shown")).to_have_count(1)
    page.locator(".shown summary").click()
    for width, height in [(390, 844), (1280, 820)]:
        page.set_viewport_size(dict(width=width, height=height))
        readable(page, f"shown memories at {width} px")
        accessible(page, f"shown memories at {width} px")
    page.screenshot(path=SHOTS / "light-1280-shown.png")


def made_here(watch, served):
    """A memory leads to the message that made it, and the message to the memory."""
    page = watch.page
    for role, text in [("user", "Remember that the winch needs oil."), ("assistant", "Noted.")]:
        served.tool("session_append", id="talk-11", messages=[dict(role=role, content=text)])
    stored = json.loads(served.run("--json", "--session", "talk-11", "store", "The winch needs oil every spring"))
    served.tool("session_append", id="talk-11", messages=[dict(role="user", content="Thanks.")])
    watch.go("sessions/talk-11")
    place = page.locator(".message:has(.stored)")
    expect(place).to_have_count(1)
    expect(place).to_contain_text("Noted.")
    expect(place.locator(".stored")).to_contain_text("The winch needs oil every spring")
    expect(page.locator("aside.side").last.get_by_role("link", name="its message")).to_be_visible()
    readable(page, "a memory at its message")
    accessible(page, "a memory at its message")
    place.locator(".stored a").click()
    page.wait_for_selector(".room.entry[data-ready]")
    expect(page.locator("h1")).to_have_text(f"Memory #{stored['number']}")


def compacted(watch, served):
    """A compacted conversation has its summary, and a conversation can be quarantined."""
    page = watch.page
    say = lambda role, text: served.tool("session_append", id="talk-10", messages=[dict(role=role, content=text)])
    for number in range(60):
        say("user" if number % 2 == 0 else "assistant", f"Line {number} about the harbour office, the ferry and the lighthouse. " * 40)
    covered = served.tool("session_compact", id="talk-10")["covered"]
    assert covered > 0, covered
    watch.go("sessions")
    watch.go("sessions/talk-10")
    page.locator("details.summary summary").click()
    expect(page.locator("details.summary .content")).to_contain_text("harbour office")
    page.get_by_role("button", name="Quarantine").click()
    page.locator("dialog").get_by_role("button", name="Quarantine").click()
    toast(page, "Out of recall")
    names = lambda: [one["name"] for one in served.tool("memory_quarantine")["quarantines"]]
    assert names() == ["talk-10"], names()
    undo(page)
    toast(page, "Back in recall")
    assert names() == [], names()


def phone_diff(browser, served):
    """A diff on a phone uses the width of the screen."""
    served.propose("SOUL.md", "a longer change", content="# Soul\n\n- Calm, patient and precise, whatever the question is about.\n")
    context = browser.new_context(viewport=dict(width=390, height=844), has_touch=True, is_mobile=True)
    watch = Watch(context, served, "approvals")
    watch.page.locator(".proposal a", has_text="a longer change").first.click()
    expect(watch.page.locator(".diff")).to_be_visible()
    widths = watch.page.evaluate("[...document.querySelectorAll('.diff td:not(.number)')].map((cell) => cell.getBoundingClientRect().width)")
    assert widths and min(widths) > 280, widths
    readable(watch.page, "approvals on a phone")
    watch.page.get_by_role("button", name="Deny", exact=True).click()
    watch.page.reload()
    watch.check()
    context.close()


def graph(watch, served):
    page = watch.page
    watch.go("graph?about=Osprey")
    page.wait_for_timeout(700)
    painted = page.evaluate("""() => { const c = document.querySelector('canvas');
        return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0); }""")
    assert painted, "nothing is drawn"
    expect(page.locator("aside h2")).to_contain_text("Osprey")
    expect(page.locator("aside .facts").first).to_contain_text("on time")
    page.get_by_text("Earlier values").click()
    expect(page.locator("aside details")).to_contain_text("late")
    expect(page.locator(".kinds label").first).to_be_visible()
    # A name is found whatever the case, and with letters left out.
    page.get_by_role("combobox", name="Find a name").fill("ptra lind")
    page.keyboard.press("Enter")
    expect(page.locator("aside h2")).to_contain_text("Petra Lindholm")
    expect(page.locator("aside .banner")).to_contain_text("Possibly the same as Petra")
    page.get_by_role("button", name="Merge").click()
    toast(page, "are one")
    expect(page.locator("aside .banner")).to_have_count(0)
    undo(page)
    expect(page.locator("aside .banner")).to_contain_text("Possibly the same")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Escape")
    expect(page.locator("aside h2")).to_have_text("Most connected")


def files(watch, served):
    page = watch.page
    watch.go("files")
    expect(page.locator(".tree details").first).to_contain_text("February 2026")
    page.locator(".tree a", has_text="heron.md").click()
    expect(page.locator(".markdown h2")).to_have_text("Heron")
    expect(page.locator(".markdown table")).to_contain_text("replica")
    expect(page.locator(".markdown a")).to_have_attribute("href", "#/files/memory/topics/osprey.md")
    page.get_by_role("button", name="Source").click()
    expect(page.locator(".source")).to_contain_text("## Restart")
    page.get_by_role("button", name="Rendered").click()
    watch.go("files/MEMORY.md")
    page.get_by_text("History of proposed changes").click()
    expect(page.locator(".history")).to_contain_text("Petra painted it")
    page.get_by_role("button", name="Edit").click()
    page.fill("textarea", "# Memory\n\n- The mast is old.\n")
    page.get_by_role("button", name="Save").click()
    toast(page, "Saved")
    file = served.home / "groups/main/MEMORY.md"
    assert file.read_text() == "# Memory\n\n- The mast is old.\n"
    # A text that an editor wrote meanwhile is not overwritten.
    page.get_by_role("button", name="Edit").click()
    file.write_text("# Memory\n\n- Somebody else.\n")
    page.fill("textarea", "lost")
    page.get_by_role("button", name="Save").click()
    toast(page, "has changed in the meantime")
    assert "Somebody else" in file.read_text()
    watch.forgive(409)


def sessions(watch, served):
    page = watch.page
    watch.go("sessions")
    newest = served.tool("session_list")["sessions"][0]
    expect(page.locator(".item").first).to_contain_text(newest.get("title") or "Conversation of")
    page.fill("input[type=search]", "ferry")
    expect(page.locator(".item mark").first).to_have_text("ferry")
    page.locator(".item:has(mark) a").first.click()
    page.wait_for_selector(".messages")
    expect(page.locator("h1")).to_have_text("When does the harbour office open?")
    expect(page.locator(".messages .here")).to_be_visible()
    expect(page.locator("aside.side")).to_contain_text("It stored no memory.")


def tasks(watch, served):
    page = watch.page
    watch.go("tasks")
    expect(page.locator(".waiting").first).to_contain_text("TASK-001")
    page.get_by_label("New task").fill("Paint the lighthouse")
    page.get_by_role("button", name="Add").click()
    toast(page, "Added")
    expect(page.locator("ul.tasks").first).to_contain_text("Paint the lighthouse")
    page.locator("li.task", has_text="release notes").get_by_role("button", name="Start").click()
    expect(page.locator("section", has_text="In progress")).to_contain_text("release notes")
    page.locator("li.task", has_text="release notes").get_by_role("button", name="Done").click()
    toast(page, "TASK-001: done")


def timeline(watch, served):
    page = watch.page
    watch.go("timeline")
    expect(page.locator(".events")).to_contain_text("You approved a change: USER.md")
    assert "token" not in page.locator(".events").inner_text(), "a row names the token as a size"
    assert not re.search(r"\b1 (messages|documents|passages)\b", page.locator(".events").inner_text())
    facts = page.locator(".events li", has=page.locator("summary", has_text=re.compile("set [0-9]+ facts")))
    facts.locator("summary").click()
    facts.get_by_role("link", name="Osprey: status = on time").click()
    expect(page.locator("aside h2")).to_contain_text("Osprey")
    watch.go("timeline")
    page.select_option("select[aria-label=What]", "tasks")
    expect(page.locator(".events > li").first).to_contain_text("task")
    assert page.locator(".events .kind-memories").count() == 0
    page.select_option("select[aria-label=What]", "memories")
    page.locator(".events summary", has_text="You stored").first.click()
    page.locator(".fold a", has_text="nightly export").click()
    expect(page.locator(".content")).to_contain_text("nightly export")


def health(watch, served):
    page = watch.page
    watch.go("health")
    expect(page.locator(".chart")).to_have_count(4)
    expect(page.locator(".chart", has_text="injected into sessions and answered by tools")).to_be_visible()
    expect(page.locator(".tables")).to_contain_text("purge")
    page.get_by_text(re.compile(r"All \d+ settings")).click()
    expect(page.locator(".settings").last).to_contain_text("brief.max_chars")


def groups(watch, served):
    """The switch in the header changes the memory that every view shows."""
    page = watch.page
    watch.go("memory")
    page.select_option(".groups select", "garden")
    expect(page.locator(".hits")).to_contain_text("roses")
    expect(page.locator(".hits")).not_to_contain_text("heron")
    page.select_option(".groups select", "main")
    expect(page.locator(".hits")).to_contain_text("heron")


def empty_group(watch, served):
    """A new memory leads to the first memory and the first agent, and no view fails without data."""
    page = watch.page
    # A preview that is still loading would ask the other group.
    watch.go("files")
    page.evaluate("localStorage.setItem('group', 'empty')")
    served.tool("health", group="empty")
    page.reload()
    page.wait_for_selector(".room[data-ready]")
    watch.go("home")
    expect(page.locator("h1")).to_have_text("Welcome to Nacre")
    for view in ["home", "memory", "approvals", "sessions", "graph", "timeline", "files", "tasks", "health"]:
        watch.go(view)
        readable(page, f"empty {view}")
        accessible(page, f"empty {view}")
        assert page.locator(".empty.error").count() == 0, view
    page.evaluate("localStorage.setItem('group', 'main')")
    page.reload()
    page.wait_for_selector(".room[data-ready]")


def failing(watch, served):
    """A view that can't load says so, and tries again on request."""
    page = watch.page
    page.route("**/v1/tools/task_list", lambda route: route.abort())
    watch.go("tasks")
    expect(page.locator(".empty.error")).to_contain_text("Nacre does not answer")
    accessible(page, "error")
    page.unroute("**/v1/tools/task_list")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".tasks li").first).to_be_visible()
    watch.wrong = [one for one in watch.wrong if "ERR_FAILED" not in one]


def sharing(watch, served):
    """Health and the frame tell who shares the memory: synced machines and how far they are, tokens and their rights."""
    page, folder = watch.page, served.home.parent / "carrier"
    panel = page.locator(".panel", has=page.get_by_role("heading", name="Who shares this memory"))
    watch.go("health")
    expect(panel).to_contain_text("Only this machine has this memory")
    expect(panel.get_by_role("row", name=re.compile("^agent"))).to_contain_text("sees private data")
    expect(page.locator(".sharing")).to_have_count(0)
    name = "<b onmouseover=window.__pwned=21>desk"
    phrase = json.loads(served.run("--json", "sync", "init", str(folder), "--name", name))["phrase"]
    other = [served.nacre, "--home", str(served.home.parent / "other"), "sync", "join", str(folder), "--name", "laptop"]
    subprocess.run(other, input=phrase, text=True, check=True, capture_output=True)
    page.reload()
    page.wait_for_selector(".room.health[data-ready]")
    expect(panel.get_by_role("row", name=re.compile("^laptop"))).to_contain_text("just now")
    expect(panel.get_by_role("row", name=re.compile("desk"))).to_contain_text("this machine")
    expect(page.locator("#rail .sharing")).to_contain_text(re.compile("2 machines in sync|to send"))
    assert page.locator(".panel b, #rail b").count() == 0
    for width, height in [(390, 844), (1280, 820)]:
        page.set_viewport_size(dict(width=width, height=height))
        # Charts are drawn again in the next frame.
        page.wait_for_timeout(200)
        readable(page, f"sharing at {width} px")
        accessible(page, f"sharing at {width} px")
    panel.scroll_into_view_if_needed()
    page.screenshot(path=SHOTS / "light-1280-sharing.png")
    shutil.rmtree(folder)
    page.reload()
    page.wait_for_selector(".room.health[data-ready]")
    expect(panel.locator(".warn").first).to_contain_text("The machines can't be told")
    expect(page.locator("#rail .sharing")).to_have_text("Sync needs attention")
    served.run("sync", "leave")


def screen_reader(browser, served):
    """Every view has names, roles and headings in Chromium's accessibility tree; results, changes and their undo are announced; the
    focus returns after dialogs."""
    problems = []
    for width, height in [(1280, 820), (390, 844)]:
        context = browser.new_context(viewport=dict(width=width, height=height))
        watch = Watch(context, served)
        page = watch.page
        for view in VIEWS:
            watch.go(view)
            page.wait_for_timeout(300)
            page.evaluate("document.querySelectorAll('#view details').forEach((node) => { node.open = true; })")
            try:
                names(page, f"{width} {view}")
            except AssertionError as problem:
                problems.append(str(problem))
        for key in ["?", "c", "Control+k"]:
            watch.go("home")
            before = page.locator("a.brand")
            before.focus()
            page.keyboard.press(key)
            expect(page.locator("dialog")).to_be_visible()
            try:
                names(page, f"{width} dialog {key}")
            except AssertionError as problem:
                problems.append(str(problem))
            page.keyboard.press("Escape")
            expect(page.locator("dialog")).to_have_count(0)
            expect(before).to_be_focused()
        # A question, too, gives the focus back to the button that asked it.
        watch.go("entry/2")
        button = page.get_by_role("button", name="Delete", exact=True)
        button.focus()
        page.keyboard.press("Enter")
        names(page, f"{width} question")
        page.keyboard.press("Escape")
        expect(button).to_be_focused()
        # The number of results, also of none.
        watch.go("memory")
        listen(page)
        page.fill("input[name=q]", "harbour")
        said(page, r"\d+ hits?")
        watch.go("memory?tag=of-nobody")
        listen(page)
        page.fill("input[name=q]", "harbour")
        said(page, "Nothing found")
        # A change and its undo: the region is there before, and the button is in it.
        watch.go("tasks")
        listen(page)
        page.get_by_label("New task").fill(f"Announce at {width}")
        page.get_by_role("button", name="Add").click()
        said(page, "Added")
        watch.go("entry/2")
        listen(page)
        page.get_by_role("button", name="Delete", exact=True).click()
        page.locator("dialog").get_by_role("button", name="Delete").click()
        said(page, "Deleted memory #2")
        nodes = tree(page)
        region = next(node for node in nodes if node.role == "status" and node.of.get("live") == "polite" and node.children)
        assert any(node.role == "button" and node.name == "Undo" for node in nodes), f"{region}: no Undo"
        undo(page)
        page.wait_for_selector(".room.entry[data-ready]")
        # A failure is announced, too.
        page.route("**/v1/tools/task_list", lambda route: route.abort())
        listen(page)
        watch.go("tasks")
        said(page, "Nacre does not answer")
        page.unroute("**/v1/tools/task_list")
        watch.wrong = [one for one in watch.wrong if "ERR_FAILED" not in one]
        watch.check()
        context.close()
    assert not problems, "\n".join(problems)


def teams(browser, served):
    """Health shows the spaces, roles and members of a team as the member sees them, and the frame the own role. The answers are those of
    the server."""
    token = lambda name, **more: dict(name=name, person=True, private=False, untrusted=False, made_at="2026-02-18T10:00:00Z", used_at="2026-02-18T10:00:00Z") | more
    role = lambda group, role: dict(group=group, role=role)
    hostile = "<img src=x onerror=window.__pwned=31>"
    members = [dict(name="olav", roles=[role("web", "reader")], tokens=[]), dict(name="petra", roles=[role("petra", "admin"), role("web", "writer")], tokens=[token("laptop"), token(hostile)]),
               dict(name="rita", roles=[role("web", "reviewer")], tokens=[])]
    sharing = dict(you=dict(token="petra/laptop", role="admin", visibility="shared"), server="db.example/team", tokens=[], team=dict(member="petra", role="writer", members=members))
    for theme, width in [("light", 1280), ("dark", 390)]:
        context = browser.new_context(viewport=dict(width=width, height=844), color_scheme=theme)
        context.route("**/v1/sharing", lambda route: route.fulfill(json=sharing))
        watch = Watch(context, served, "health")
        page = watch.page
        panel = page.locator(".panel", has=page.get_by_role("heading", name="Who shares this memory"))
        expect(panel).to_contain_text("You are petra, writer in this space")
        expect(panel.get_by_role("row", name=re.compile("^web writer"))).to_contain_text("olav (reader), rita (reviewer)")
        expect(panel.get_by_role("row", name=re.compile("^petra you"))).to_contain_text("admin in petra, writer in web")
        expect(panel.get_by_role("row", name=re.compile("^olav"))).to_contain_text("only they see theirs")
        if width > 1000:
            expect(page.locator("#rail .sharing")).to_contain_text("petra, writer")
        readable(page, f"team at {width} px")
        accessible(page, f"team at {width} px")
        names(page, f"team at {width} px")
        panel.scroll_into_view_if_needed()
        page.screenshot(path=SHOTS / f"{theme}-{width}-team.png")
        watch.check()
        context.close()


def signed_out(browser, served):
    """Whoever has no link learns how to get one, and sees nothing else."""
    context = browser.new_context(viewport=dict(width=390, height=844))
    page = context.new_page()
    for address, text in [(served.url, "This page needs a link"), (served.url + "/login?code=used", "used already or is too old")]:
        page.goto(address)
        expect(page.locator("h1")).to_contain_text(text)
        expect(page.locator("body")).to_contain_text("nacre ui")
        assert page.locator("nav, input").count() == 0
        readable(page, address)
        accessible(page, address)
    context.close()


def live(watch, served):
    """A memory that an agent stores elsewhere shows without a reload."""
    watch.go("memory")
    served.tool("memory_store", token=served.agent, content="The ferry leaves at dawn")
    expect(watch.page.locator(".hits")).to_contain_text("The ferry leaves at dawn", timeout=10000)


def keyboard(watch, served):
    """Once through without a mouse: palette, search, preview, edit, select, approve, graph, and back."""
    page, press = watch.page, watch.page.keyboard.press
    served.propose("USER.md", "again", content="# User\n\n- Likes black tea.\n")
    watch.go("health")
    press("Control+k")
    page.keyboard.type("memory")
    expect(page.locator("dialog [role=option]").first).to_contain_text("Memory")
    press("Enter")
    page.wait_for_selector(".room.memory[data-ready]")
    page.keyboard.type("tea morning")
    expect(page.locator(".hit").first).to_contain_text("green tea")
    press("ArrowDown"); press("ArrowDown"); press("k")
    expect(page.locator(".preview .content")).to_contain_text("green tea")
    press("x")
    expect(page.locator(".bulk")).to_contain_text("1 selected")
    press("x")
    before = served.tool("memory_get", id=1)["score"]
    press("r")
    toast(page, "It now ranks higher")
    assert served.tool("memory_get", id=1)["score"] == before + 3
    expect(page.locator(".preview .score")).to_have_text(f"usefulness {before + 3}")
    press("e")
    press("Control+A"); page.keyboard.type("Petra prefers black tea"); press("Control+Enter")
    toast(page, "Saved")
    expect(page.locator(".preview .content")).to_have_text("Petra prefers black tea")
    press("Enter")
    page.wait_for_selector(".room.entry[data-ready]")
    press("g"); press("a")
    page.wait_for_selector(".room.approvals[data-ready] .diff")
    press("a")
    toast(page, "USER.md was written")
    assert "black tea" in (served.home / "groups/main/USER.md").read_text()
    press("g"); press("g")
    page.wait_for_selector(".room.graph[data-ready] aside")
    for _ in range(60):
        press("Tab")
        if page.evaluate("document.activeElement.matches('button.step')"):
            break
    name = page.evaluate("document.activeElement.dataset.name")
    press("Enter")
    expect(page.locator("aside h2")).to_contain_text(name)
    assert page.evaluate("document.activeElement.matches('button.step')"), "one can walk on"
    for key, room in [("h", "home"), ("t", "timeline"), ("f", "files"), ("s", "sessions"), ("k", "tasks"), ("e", "health")]:
        press("g"); press(key)
        page.wait_for_selector(f".room.{room}[data-ready]")
        expect(page.locator("h1")).to_be_focused()
    # What has the focus can be seen.
    press("Tab")
    outline = page.evaluate("(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle + s.boxShadow; })()")
    assert outline != "nonenone", "the focus can't be seen"


def hostile(watch, served):
    page = watch.page
    served.poison()
    eve = "Eve%20%3Cimg%20src=x%20onerror=window.__pwned=7%3E"
    # Nothing hostile is learned as a lesson or found to contradict, so these answers are those of the tools.
    at = "2026-02-18T10:00:00Z"
    side = lambda kind: dict(id=f"{kind}-1", kind=kind, text=HOSTILE, at=at, source=HOSTILE, session="<script>x</script>")
    lesson = dict(number=99, state="waiting", text=HOSTILE, asked=HOSTILE, learned_at=at, session="<script>x</script>")
    planted = {"lesson_list": dict(lessons=[lesson]), "memory_conflicts": dict(conflicts=[dict(number=98, found_at=at, first=side("fact"), second=side("message"))], open=1)}
    for tool, answer in planted.items():
        page.route(f"**/v1/tools/{tool}", (lambda answer: lambda route: route.fulfill(json=answer))(answer))
    for place, shown in [("approvals/lesson-99", ".detail .card"), ("approvals/conflict-98", ".sides .card")]:
        watch.go(place)
        expect(page.locator(shown).first).to_contain_text("<script>")
        assert page.locator("#view script, #view img, #view iframe, #view a[href^='javascript']").count() == 0, place
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, place
    for tool in planted:
        page.unroute(f"**/v1/tools/{tool}")
    for place in ["home", "memory", "memory?q=pwned", "entry/14", "approvals", f"graph?about={eve}", "graph", "timeline", "files", "files/CONTEXT.md",
                  "files/%3Cimg%20src=x%20onerror=window.__pwned=12%3E.md", "sessions", "sessions/%3Cscript%3Ex%3C%2Fscript%3E", "tasks", "health",
                  "memory?q=%3Cscript%3Ewindow.__pwned=13%3C/script%3E", "memory?tag=%3Cscript%3E"]:
        watch.go(place)
        page.wait_for_timeout(300)
        page.evaluate("document.querySelectorAll('#view details').forEach((node) => { node.open = true; })")
        page.wait_for_timeout(100)
        assert page.locator("#view script, #view img, #view iframe, #view a[href^='javascript']").count() == 0, place
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{place} is {wide} pixels too wide"
        watch.forgive(40)
        watch.check()
    watch.go("memory")
    page.keyboard.press("Control+k")
    page.keyboard.type("pwned")
    page.wait_for_timeout(500)
    assert page.locator("dialog script, dialog img").count() == 0
    page.keyboard.press("Escape")


def contradictions(browser, served):
    """Statements that contradict each other stand side by side, and one key settles them. The answers are those of the tool."""
    side = lambda id, kind, text, at: dict(id=id, kind=kind, text=text, at=at, source="person")
    open_ones = [dict(number=7, found_at="2026-02-18T10:00:00Z", first=side("fact-1", "fact", "heron: port = 5432", "2026-01-02T10:00:00Z"),
                      second=side("id:10", "entry", "The staging database was moved to port 5433, not 5432", "2026-02-18T10:00:00Z"))]
    asked = []

    def answer(route):
        arguments = json.loads(route.request.post_data)
        if arguments:
            asked.append(arguments)
            open_ones.clear()
        route.fulfill(json=dict(conflicts=open_ones, open=len(open_ones), note="fact-1 has ended."))

    context = browser.new_context(viewport=dict(width=1280, height=820))
    context.route("**/v1/tools", lambda route: route.fulfill(json=dict(tools=[dict(name="memory_conflicts")])))
    context.route("**/v1/tools/memory_conflicts", answer)
    watch = Watch(context, served, "approvals/conflict-7")
    page = watch.page
    expect(page.locator(".sides .card")).to_have_count(2)
    expect(page.locator(".sides .card").last).to_contain_text("Newer")
    readable(page, "conflict")
    accessible(page, "conflict")
    page.screenshot(path=SHOTS / "light-1280-conflict.png")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("2")
    toast(page, "fact-1 has ended")
    assert asked == [dict(number=7, keep="second")], asked
    expect(page.locator(".sides")).to_have_count(0)
    undo(page)
    page.wait_for_timeout(300)
    assert asked[-1] == dict(number=7, undo=True), asked
    watch.check()
    context.close()


def by_project(browser, served):
    """Hits are filtered by their project; one that a newer statement contradicts says so; one without a date is shown. The answers are
    those of the tool."""
    why = [dict(lane="bm25", rank=1, words=["port"])]
    hit = lambda number, project, **more: dict(kind="entry", id=f"mem-{number}", number=number, type="fact", tags=[], text=f"The port is {number}", score=0.9, relevance=1, why=why, explain=[], project=project) | more
    hits = [hit(1, "heron", at="2026-02-18T10:00:00Z"), hit(2, "osprey", at="2026-01-18T10:00:00Z", newer=dict(id="id:1", at="2026-02-18T10:00:00Z")), hit(5, "heron")]
    context = browser.new_context(viewport=dict(width=1280, height=820))
    context.route("**/v1/tools/memory_search", lambda route: route.fulfill(json=dict(hits=hits, missing=[])))
    watch = Watch(context, served, "memory?q=port")
    page = watch.page
    expect(page.locator(".hit")).to_have_count(3)
    expect(page.locator(".hit").nth(1)).to_contain_text("a newer statement says otherwise: #1")
    page.select_option("select[aria-label=Project]", "heron")
    expect(page.locator(".hit")).to_have_count(2)
    readable(page, "projects")
    context.close()


def by_origin(browser, served):
    """Hits are filtered by their source and by who wrote them, with counts. What is not the user's own word says so. The answers are those
    of the tool."""
    why = [dict(lane="bm25", rank=1, words=["port"])]
    hit = lambda number, origin, **more: dict(kind="entry", id=f"mem-{number}", number=number, type="fact", tags=[], text=f"The port is {number}", score=0.9, relevance=1, why=why, explain=[], origin=origin, at="2026-02-18T10:00:00Z") | more
    hits = [hit(1, "person"), hit(2, "agent"), hit(5, "agent"), hit(6, "untrusted"), hit(0, "document", kind="document", id="d-0", path="memory/topics/heron.md", lines=[1, 3])]
    context = browser.new_context(viewport=dict(width=1280, height=820))
    context.route("**/v1/tools/memory_search", lambda route: route.fulfill(json=dict(hits=hits, missing=[])))
    entry = dict(id="mem-2", number=2, type="fact", content="The port is 2", tags=[], behavioral=False, score=1, origin="agent", provenance=dict(session="talk-1", group="main", timestamp="2026-02-18T10:00:00Z", source="agent"))
    context.route("**/v1/tools/memory_get", lambda route: route.fulfill(json=entry))
    watch = Watch(context, served, "memory?q=port")
    page = watch.page
    expect(page.locator(".hit")).to_have_count(5)
    expect(page.locator(".hit").nth(3).locator(".warn")).to_have_text("an untrusted session")
    expect(page.locator("select[aria-label=Origin] option").nth(1)).to_have_text("your agent (2)")
    page.select_option("select[aria-label=Origin]", "agent")
    expect(page.locator(".hit")).to_have_count(2)
    expect(page.locator(".preview .facts")).to_contain_text("by your agent")
    readable(page, "origins")
    accessible(page, "origins")
    page.screenshot(path=SHOTS / "light-1280-origins.png")
    page.select_option("select[aria-label=Origin]", "")
    page.select_option("select[aria-label=Source]", "memory/topics/heron.md")
    expect(page.locator(".hit")).to_have_count(1)
    assert "source=memory" in page.url, page.url
    watch.check()
    context.close()


def every_kind(browser, served):
    """A hit of any kind is one row with a small label. The label of a message had the frame of a conversation's messages, and the one of an
    item counted as a row. The answers are those of the tool."""
    why = [dict(lane="bm25", rank=1, words=["port"])]
    hit = lambda kind, **more: dict(kind=kind, id=f"{kind}-1", text="The port is 5433", score=0.9, relevance=1, why=why, explain=[], at="2026-02-18T10:00:00Z") | more
    later = dict(id="talk-2/msg_001", at="2026-02-19T10:00:00Z")
    hits = [hit("message", session="talk-1", author="user", newer=later), hit("entry", number=1, type="fact", tags=[]), hit("exchange", session="talk-1"), hit("fact"), hit("relation"),
            hit("document", path="memory/topics/heron.md", lines=[1, 3]), hit("source", path="a.md", collection="docs", lines=[1, 3]), hit("item"), hit("task")]
    for width in [390, 1280]:
        context = browser.new_context(viewport=dict(width=width, height=900))
        context.route("**/v1/tools/memory_search", lambda route: route.fulfill(json=dict(hits=hits, missing=[])))
        watch = Watch(context, served, "memory?q=port&in=entries,memory,graph,sessions,sources,items")
        page = watch.page
        expect(page.locator(".hits .item")).to_have_count(len(hits))
        tall = page.evaluate("[...document.querySelectorAll('.hits .kind')].filter((label) => label.getBoundingClientRect().height > 24).map((label) => label.textContent)")
        assert not tall, tall
        expect(page.locator(".hit .warn a")).to_have_attribute("href", re.compile("^#/sessions/talk-2"))
        readable(page, f"every kind at {width} px")
        accessible(page, f"every kind at {width} px")
        watch.check()
        context.close()


def mcp_app(browser, served):
    """The page for MCP clients, in a sandboxed frame under the strictest policy: it shows the answer of the tool, searches, lists what waits,
    and stored text stays text."""
    policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
    html = (HERE / "../../crates/nacre-app/src/mcp/app.html").read_text()
    for theme in ["light", "dark"]:
        context = browser.new_context(viewport=dict(width=390, height=700))
        wrong = []
        context.on("weberror", lambda error: wrong.append(str(error.error)))
        context.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
        context.route("https://host.test/", lambda route: route.fulfill(content_type="text/html", body=MCP_HOST.replace("THEME", theme).replace("HOSTILE", json.dumps(HOSTILE).replace("<", "\\u003c"))))
        context.route("https://app.test/", lambda route: route.fulfill(content_type="text/html", body=html, headers={"content-security-policy": policy}))
        page = context.new_page()
        page.goto("https://host.test/")
        frame = page.frame_locator("iframe")
        expect(frame.locator("#hits li").first).to_contain_text("The port is 5433")
        expect(frame.locator("input")).to_have_value("which port")
        expect(frame.locator("#approvals li")).to_contain_text("Petra painted it")
        frame.locator("input").fill("harbour")
        frame.get_by_role("button", name="Search").click()
        expect(frame.locator("#hits li").first).to_contain_text("<script>")
        expect(frame.locator("#hits li").first).to_contain_text("⟨U+202E⟩")
        expect(frame.locator("#status")).to_have_text("1 hit")
        [inside] = [one for one in page.frames if one.url == "https://app.test/"]
        assert inside.evaluate("window.__pwned") is None, "something ran"
        problems = inside.evaluate(LAYOUT)
        assert not problems, f"{theme}: {problems}"
        page.screenshot(path=SHOTS / f"{theme}-390-mcp-app.png")
        # The policy forbids every other request, so axe runs in the same file without it.
        alone = context.new_page()
        alone.set_content(html)
        accessible(alone, f"{theme}: MCP App")
        assert not wrong, wrong
        context.close()


# A client that shows MCP Apps, as far as the page needs one.
MCP_HOST = """<!doctype html><meta charset="utf-8"><title>Client</title><iframe sandbox="allow-scripts" width="370" height="600" src="https://app.test/"></iframe><script>
  const frame = document.querySelector("iframe");
  const send = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const found = (hits) => ({ content: [], structuredContent: { hits } });
  const answers = {
    "ui/initialize": () => ({ protocolVersion: "2026-01-26", hostInfo: { name: "test", version: "1" }, hostCapabilities: {}, hostContext: { theme: "THEME" } }),
    "tools/call": ({ name, arguments: { query } }) => name === "memory_search" && query === "harbour" ? found([{ id: "2", text: HOSTILE, time: "today" }]) : null,
    "resources/read": () => ({ contents: [{ text: JSON.stringify({ proposals: [{ number: 1, target: "MEMORY.md", reason: "Petra painted it", lines: [1, 1] }] }) }] }),
  };
  addEventListener("message", ({ data }) => {
    if (data.id) send({ id: data.id, result: answers[data.method](data.params) });
    if (data.method !== "ui/notifications/initialized") return;
    send({ method: "ui/notifications/tool-input", params: { arguments: { query: "which port" } } });
    send({ method: "ui/notifications/tool-result", params: found([{ id: "1", text: "The port is 5433", time: "today", source: "MEMORY.md" }]) });
  });
</script>"""


def large_graph(browser, served):
    """A large graph starts around one entity; as a whole it is a few clusters with names, and each leads to its part."""
    entity = lambda number: dict(name=f"Entity {number}", category=["person", "host"][number % 2], aliases=[], facts=0, relations=2)
    relation = lambda number: dict(id=f"relation-{number}", subject=f"Entity {number}", predicate="knows", object=f"Entity {number // 7}", since="2026-01-01T00:00:00Z")
    picture = dict(entities=[entity(number) for number in range(1000)], facts=[], relations=[relation(number) for number in range(1, 1000)])
    context = browser.new_context(viewport=dict(width=1280, height=820))
    context.route("**/v1/tools/graph_picture", lambda route: route.fulfill(json=picture))
    watch = Watch(context, served, "graph")
    page = watch.page
    expect(page.locator("canvas")).to_have_attribute("aria-label", re.compile("^9 entities and 8 relations around Entity"))
    page.get_by_role("button", name="Whole graph").click()
    expect(page.locator("canvas")).to_have_attribute("aria-label", re.compile("^30 clusters of 1,000 entities"))
    page.wait_for_timeout(1500)
    page.screenshot(path=SHOTS / "light-1280-clusters.png")
    page.locator("canvas").click(position=dict(x=5, y=5))
    expect(page.locator("aside h2")).to_have_text("Most connected")
    page.locator("button.step").nth(3).click()
    expect(page.locator("canvas")).to_have_attribute("aria-label", re.compile("around Entity"))
    watch.check()
    context.close()


ACTS = [home, dialogs, find, places, typing, weaker, store, correct, delete, bulk, approve, conflict, amend, by_hand, deny, lessons, graph, files, sessions, tasks, timeline, health, shown, made_here, compacted, stale,
        groups, empty_group, failing, live, keyboard, sharing, hostile]
ALONE = [focused, by_project, by_origin, every_kind, mcp_app, large_graph, contradictions, phone_diff, screen_reader, teams, signed_out]


def attempt(name, act):
    try:
        act()
        print(f"ok {name}", flush=True)
    except Exception as problem:  # noqa: BLE001 - each test is told, whatever goes wrong
        print(f"FAILED {name}: {str(problem)[:3000]}\n{''.join(traceback.format_tb(problem.__traceback__)[-2:])}", flush=True)


def main():
    served = Served(NACRE)
    wanted = sys.argv[4:]
    try:
        served.fill()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            if not wanted:
                for theme in ["light", "dark"]:
                    for width in [1440, 390]:
                        attempt(f"every view, {theme}, {width} px", lambda: every_view(browser, served, theme, width))
                attempt("other widths", lambda: other_widths(browser, served))
            context = browser.new_context(viewport=dict(width=1280, height=820))
            context.set_default_timeout(8000)
            watch = Watch(context, served)

            def whole(act):
                def tried():
                    try:
                        act(watch, served)
                    except Exception:
                        watch.page.screenshot(path=SHOTS / f"failed-{act.__name__}.png")
                        raise
                    watch.check()
                return tried

            for act in ACTS:
                if not wanted or act.__name__ in wanted:
                    attempt(act.__name__, whole(act))
                    watch.wrong.clear()
            for act in ALONE:
                if not wanted or act.__name__ in wanted:
                    attempt(act.__name__, lambda: act(browser, served))
            browser.close()
    finally:
        served.end()


main()
