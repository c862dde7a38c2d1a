"""The page of `nacre serve` in a real browser: each view's main act, once through with the keyboard alone, and hostile content.

    python page.py NACRE CHROMIUM [FOLDER FOR SCREENSHOTS]

Prints a line `ok …` or `FAILED …` for each test."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request

from playwright.sync_api import expect, sync_playwright

NACRE, CHROMIUM = sys.argv[1], sys.argv[2]
SHOTS = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp())
SHOTS.mkdir(parents=True, exist_ok=True)

HOSTILE = (
    "<script>window.__pwned=1</script><img src=x onerror='window.__pwned=2'><svg onload=window.__pwned=3>"
    "\u202egnp.exe javascript:window.__pwned=4 [x](javascript:window.__pwned=5) {{7*7}} " + "W" * 300
)


class Served:
    """A server in a home of its own, with something in it for each view."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.home = pathlib.Path(self.folder.name) / "home"
        self.run("init")
        self.agent = self.run("token", "add", "agent", "--private").strip()
        self.process = subprocess.Popen([NACRE, "--home", str(self.home), "serve", "--listen", "127.0.0.1:0"], stderr=subprocess.DEVNULL)
        noted = self.home / "serve.json"
        for _ in range(300):
            if noted.exists():
                break
            time.sleep(0.1)
        noted = json.loads(noted.read_text())
        self.url, self.key = noted["url"], noted["key"]

    def run(self, *args):
        done = subprocess.run([NACRE, "--home", str(self.home), *args], capture_output=True, text=True)
        return done.stdout

    def ask(self, path, body=None, token=None):
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {token or self.key}", "content-type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def tool(self, name, token=None, **arguments):
        return self.ask(f"/v1/tools/{name}", arguments, token)

    def link(self):
        return self.url + self.ask("/v1/login", {})["path"]

    def fill(self):
        for text, kind, tags in [
            ("Petra prefers tea over coffee in the morning", "preference", ["drinks"]),
            ("The staging database is called heron and lives in Lübeck", "fact", ["infra", "database"]),
            ("Always run the linter before a commit", "instruction", ["code"]),
            ("The harbour office opens at nine", "fact", ["harbour"]),
            ("The project Osprey ships in March", "context", ["osprey"]),
        ]:
            self.tool("memory_store", content=text, type=kind, tags=tags)
        self.tool("memory_store", content="The harbour office opens at eight", supersedes=4)
        for entity, key, value in [("Petra Lindholm", "port", "Lübeck"), ("Petra Lindholm", "role", "captain"), ("Osprey", "status", "late")]:
            self.tool("fact_upsert", entity=entity, key=key, value=value)
        for subject, predicate, thing in [
            ("Petra Lindholm", "works_on", "Osprey"), ("Osprey", "depends_on", "Heron"), ("Mikkel Dahl", "works_on", "Osprey"),
            ("Petra Lindholm", "knows", "Mikkel Dahl"), ("Heron", "located_in", "Lübeck"),
        ]:
            self.tool("relation_add", subject=subject, predicate=predicate, object=thing)
        self.tool("task_add", description="Write the release notes", milestone="M1", priority=1, acceptance_criteria=["they name every change"])
        self.tool("task_add", description="Ship the release", milestone="M1", blocked_by=["TASK-001"])
        self.tool("session_append", id="talk-1", messages=[
            {"role": "user", "content": "When does the harbour office open?"}, {"role": "assistant", "content": "At eight."}])
        read = self.tool("file_show", path="MEMORY.md")
        self.tool("file_save", path="MEMORY.md", content="# Memory\n\n- The boat is red.\n- The mast is new.\n", base=read.get("hash"))
        self.tool("memory_write", token=self.agent, path="MEMORY.md", mode="edit", old="The boat is red.", content="The boat is blue.", reason="Petra painted it")
        self.tool("memory_write", token=self.agent, path="USER.md", content="# User\n\n- Likes tea.\n", reason="it was said twice")
        for _ in range(12):
            self.tool("memory_search", query="harbour")

    def poison(self):
        """Puts hostile text into every field that the page shows."""
        self.tool("memory_store", content=HOSTILE, tags=["<b onmouseover=window.__pwned=6>tag"])
        self.tool("fact_upsert", entity="Eve <img src=x onerror=window.__pwned=7>", key="<i>key</i>", value=HOSTILE)
        self.tool("relation_add", subject="Eve <img src=x onerror=window.__pwned=7>", predicate="knows", object="</script><script>window.__pwned=8</script>")
        self.tool("task_add", description=HOSTILE, milestone="<script>window.__pwned=9</script>", acceptance_criteria=[HOSTILE])
        self.tool("session_append", id="<script>x</script>", messages=[{"role": "user", "content": HOSTILE}])
        self.tool("memory_write", token=self.agent, path="SOUL.md", content=HOSTILE, reason=HOSTILE)
        read = self.tool("file_show", path="CONTEXT.md")
        self.tool("file_save", path="CONTEXT.md", content=f"# {HOSTILE}\n- [<img src=x onerror=window.__pwned=11>|i=0.5] {HOSTILE}\n", base=read.get("hash"))

    def end(self):
        self.process.terminate()
        self.process.wait(20)
        self.folder.cleanup()


class Watch:
    """A page that must never run what memory holds, ask elsewhere or break its own rules."""

    def __init__(self, context, served):
        self.page, self.wrong = context.new_page(), []
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("pageerror", lambda error: self.wrong.append(f"error {error}"))
        self.page.on("console", lambda line: self.wrong.append(f"console {line.text}") if line.type == "error" else None)
        self.page.on("request", lambda request: self.wrong.append(f"request {request.url}") if not request.url.startswith(served.url) else None)
        self.page.add_init_script("addEventListener('securitypolicyviolation', (e) => { (window.__broken ??= []).push(e.violatedDirective + ' ' + e.blockedURI); });")
        self.page.goto(served.link())
        self.page.wait_for_selector("#view .room")

    def go(self, place):
        # From elsewhere, so that the same address is opened anew.
        self.page.evaluate("(place) => { location.hash = '#/nowhere'; location.hash = place; }", f"#/{place}")
        self.page.wait_for_selector(f"#view .room.{place.split('/')[0].split('?')[0]}")
        self.page.wait_for_timeout(150)

    def check(self):
        assert self.page.evaluate("window.__pwned") is None, "something ran"
        broken = self.page.evaluate("window.__broken ?? []")
        assert not broken, f"the policy was broken: {broken}"
        assert not self.wrong, self.wrong


def toast(page, text):
    expect(page.locator("#toasts")).to_contain_text(text)


def find(watch, served):
    page = watch.page
    watch.go("search")
    page.fill("input[type=search]", "staging database")
    expect(page.locator(".hit").first).to_contain_text("heron")
    expect(page.locator(".hit .lane").first).to_be_visible()
    page.get_by_label("explain").check()
    expect(page.locator(".hit .explain").first).to_be_visible()
    page.fill("input[type=search]", "zzzz qqqq")
    page.fill("input[type=search]", "")
    page.select_option("select", "instruction")
    expect(page.locator(".hit").first).to_contain_text("linter")


def correct(watch, served):
    page = watch.page
    watch.go("entry/1")
    page.get_by_role("button", name="Edit").click()
    page.fill("textarea", "Petra prefers green tea in the morning")
    page.get_by_role("button", name="Save").click()
    toast(page, "Corrected")
    expect(page.locator(".content")).to_have_text("Petra prefers green tea in the morning")
    expect(page.locator(".version")).to_be_visible()
    page.get_by_role("button", name="Reinforce").click()
    toast(page, "It now ranks higher")
    expect(page.locator(".score")).to_have_text("score 3")
    page.get_by_role("button", name="Demote").click()
    toast(page, "It now ranks lower")
    assert served.tool("memory_get", id=1)["score"] < 3
    watch.go("entry/4")
    expect(page.locator(".chain")).to_contain_text("opens at eight")
    watch.go("entry/3")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Delete").click()
    page.locator("dialog").get_by_role("button", name="Delete").click()
    toast(page, "Deleted")
    assert "linter" not in json.dumps(served.tool("memory_search", query="linter"))


def approve(watch, served):
    page = watch.page
    watch.go("approvals")
    expect(page.locator("#rail .count")).to_have_text("2")
    expect(page.locator(".diff.beside")).to_contain_text("The boat is blue.")
    expect(page.locator(".diff.beside")).to_contain_text("The boat is red.")
    page.get_by_role("button", name="Approve").click()
    toast(page, "was approved and written")
    assert "blue" in (served.home / "groups/main/MEMORY.md").read_text()
    page.get_by_role("button", name="Deny").click()
    toast(page, "was denied")
    expect(page.locator(".room")).to_contain_text("Nothing waits for you")


def graph(watch, served):
    page = watch.page
    watch.go("graph")
    expect(page.locator("canvas")).to_be_visible()
    page.wait_for_timeout(800)
    painted = page.evaluate("""() => { const c = document.querySelector('canvas');
        return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0); }""")
    assert painted, "nothing is drawn"
    page.locator("button.step", has_text="Osprey").first.click()
    expect(page.locator("aside h2")).to_contain_text("Osprey")
    page.locator("button.step", has_text="Petra Lindholm").first.click()
    expect(page.locator("aside")).to_contain_text("captain")
    page.keyboard.press("Escape")
    expect(page.locator("aside h2")).to_have_text("Most connected")


def files(watch, served):
    page = watch.page
    watch.go("files")
    page.locator(".tree a", has_text="MEMORY.md").click()
    expect(page.locator(".source")).to_contain_text("The mast is new.")
    page.get_by_role("button", name="Edit").click()
    page.fill("textarea", "# Memory\n\n- The mast is old.\n")
    page.get_by_role("button", name="Save").click()
    toast(page, "Saved")
    file = served.home / "groups/main/MEMORY.md"
    assert file.read_text() == "# Memory\n\n- The mast is old.\n"
    # What an editor wrote meanwhile is not overwritten.
    page.get_by_role("button", name="Edit").click()
    file.write_text("# Memory\n\n- Somebody else.\n")
    page.fill("textarea", "lost")
    page.get_by_role("button", name="Save").click()
    toast(page, "has changed in the meantime")
    assert "Somebody else" in file.read_text()


def sessions(watch, served):
    page = watch.page
    watch.go("sessions")
    page.locator(".item a", has_text="talk-1").click()
    expect(page.locator(".said-list")).to_contain_text("When does the harbour office open?")


def tasks(watch, served):
    page = watch.page
    watch.go("tasks")
    expect(page.locator(".room")).to_contain_text("waits for TASK-001")
    page.locator("li", has_text="release notes").get_by_role("button", name="Start").first.click()
    expect(page.locator("section", has_text="In progress")).to_contain_text("release notes")
    page.locator("li", has_text="release notes").get_by_role("button", name="Done").first.click()
    toast(page, "is done")


def timeline(watch, served):
    watch.go("timeline")
    expect(watch.page.locator(".events li").first).to_be_visible()
    assert watch.page.locator(".events li").count() > 10


def health(watch, served):
    page = watch.page
    watch.go("health")
    expect(page.locator(".chart svg")).to_have_count(3)
    # Labels do not lie on each other.
    boxes = page.evaluate("[...document.querySelectorAll('.chart:last-child text')].map((t) => { const b = t.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })")
    for place, one in enumerate(boxes):
        for other in boxes[place + 1:]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1], boxes


def live(watch, served):
    """What an agent writes elsewhere shows without a reload."""
    page = watch.page
    watch.go("search")
    page.locator("h1, .said").first.click()
    page.evaluate("document.activeElement.blur()")
    served.tool("memory_store", token=served.agent, content="The ferry leaves at dawn")
    expect(page.locator(".hits")).to_contain_text("The ferry leaves at dawn", timeout=10000)


def keyboard(watch, served):
    """Once through without a mouse: search, open, correct, approve, walk the graph, go home."""
    page, press = watch.page, watch.page.keyboard.press
    served.tool("memory_write", token=served.agent, path="USER.md", content="# User\n\n- Likes green tea.\n", reason="again")
    watch.go("health")
    page.evaluate("document.activeElement.blur()")
    press("g"); press("m")
    page.wait_for_selector(".room.search")
    press("Escape"); press("/")
    page.keyboard.type("tea morning")
    expect(page.locator(".hit").first).to_contain_text("green tea")
    press("ArrowDown"); press("Enter")
    page.wait_for_selector(".room.entry")
    expect(page.locator(".content")).to_contain_text("green tea")
    before = served.tool("memory_get", id=1)["score"]
    press("r")
    expect(page.locator(".score")).to_have_text(f"score {before + 3}")
    press("e")
    press("Control+A"); page.keyboard.type("Petra prefers black tea"); press("Tab"); press("Tab"); press("Tab"); press("Tab"); press("Tab"); press("Enter")
    expect(page.locator(".content")).to_have_text("Petra prefers black tea")
    page.evaluate("document.activeElement.blur()")
    press("g"); press("a")
    page.wait_for_selector(".room.approvals .diff")
    press("a")
    toast(page, "was approved and written")
    press("g"); press("g")
    page.wait_for_selector(".room.graph aside")
    for _ in range(40):
        press("Tab")
        if page.evaluate("document.activeElement.matches('button.step')"):
            break
    name = page.evaluate("document.activeElement.dataset.name")
    press("Enter")
    expect(page.locator("aside h2")).to_contain_text(name)
    assert page.evaluate("document.activeElement.matches('button.step')"), "one can walk on"
    press("Escape")
    for key, room in [("t", "timeline"), ("f", "files"), ("s", "sessions"), ("k", "tasks"), ("h", "health")]:
        page.evaluate("document.activeElement.blur()")
        press("g"); press(key)
        page.wait_for_selector(f".room.{room}")
    press("?")
    expect(page.locator("dialog")).to_be_visible()
    press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    # What has the focus can be seen.
    press("Tab")
    outline = page.evaluate("(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle + s.boxShadow; })()")
    assert outline != "nonenone", "the focus can't be seen"


def hostile(watch, served):
    page = watch.page
    served.poison()
    for place in ["search", "search?q=pwned&why=1", "entry/7", "approvals", "graph", "graph?about=Eve", "timeline", "files", "files/CONTEXT.md",
                  "files/%3Cimg%20src=x%20onerror=window.__pwned=12%3E.md", "sessions", "sessions/%3Cscript%3Ex%3C%2Fscript%3E", "tasks", "health",
                  "search?q=%3Cscript%3Ewindow.__pwned=13%3C/script%3E", "search?tag=%3Cscript%3E"]:
        watch.go(place)
        page.wait_for_timeout(200)
        assert page.locator("#view script, #view img[src=x], #view iframe, #view a[href^='javascript']").count() == 0, place
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{place} is {wide} pixels too wide"
        watch.check() if "onerror" not in place else None
    watch.wrong = [one for one in watch.wrong if "status of 40" not in one]


ACTS = [find, correct, approve, graph, files, sessions, tasks, timeline, health, live, keyboard, hostile]
VIEWS = ["search", "search?q=harbour&why=1", "entry/4", "approvals", "graph", "timeline", "files/MEMORY.md", "sessions/talk-1", "tasks", "health"]


def shots(browser, served):
    """Pictures of every view, light, dark and on a phone, and that nothing is wider than the screen."""
    for name, options in [
        ("light", dict(viewport=dict(width=1280, height=820))),
        ("dark", dict(viewport=dict(width=1280, height=820), color_scheme="dark")),
        ("phone", dict(viewport=dict(width=390, height=780), device_scale_factor=2, has_touch=True, is_mobile=True)),
    ]:
        context = browser.new_context(**options)
        watch = Watch(context, served)
        for view in VIEWS:
            watch.go(view)
            watch.page.wait_for_timeout(900 if view == "graph" else 250)
            watch.page.screenshot(path=SHOTS / f"{name}-{view.split('?')[0].split('/')[0]}{'-why' if 'why' in view else ''}.png")
            wide = watch.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{name} {view} is {wide} pixels too wide"
            contrast(watch.page, f"{name} {view}")
        watch.check()
        context.close()


def contrast(page, where):
    """Text stands out from what is behind it: 4.5 to 1, or 3 to 1 where it is large (WCAG AA)."""
    faint = page.evaluate("""() => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 });
      const ink = canvas.getContext('2d', { willReadFrequently: true });
      const rgba = (css) => { ink.clearRect(0, 0, 1, 1); ink.fillStyle = css; ink.fillRect(0, 0, 1, 1); return [...ink.getImageData(0, 0, 1, 1).data]; };
      const light = ([r, g, b]) => { const f = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
      const faint = [];
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        const node = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || !node.checkVisibility({ checkOpacity: true }) || node.closest('svg, noscript, [disabled], .skip, option')) continue;
        const style = getComputedStyle(node);
        const layers = [];
        for (let up = node; up; up = up.parentElement) layers.push(rgba(getComputedStyle(up).backgroundColor));
        let back = [255, 255, 255];
        for (const [r, g, b, a] of layers.reverse()) back = [r, g, b].map((v, n) => v * a / 255 + back[n] * (1 - a / 255));
        const own = rgba(style.color);
        const fore = own.slice(0, 3).map((v, n) => v * own[3] / 255 + back[n] * (1 - own[3] / 255));
        const [a, b] = [light(fore), light(back)].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
        if (ratio < (large ? 3 : 4.5)) faint.push(`${node.tagName}.${node.className}: ${ratio.toFixed(2)} "${walk.currentNode.data.trim().slice(0, 30)}"`);
      }
      return [...new Set(faint)].slice(0, 8);
    }""")
    assert not faint, f"{where}: {faint}"


def attempt(name, act):
    try:
        act()
        print(f"ok {name}", flush=True)
    except Exception as problem:  # noqa: BLE001 - each test is told, whatever goes wrong
        print(f"FAILED {name}: {str(problem)[:900]}\n{''.join(traceback.format_tb(problem.__traceback__)[-2:])}", flush=True)


def main():
    served = Served()
    try:
        served.fill()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            attempt("light, dark and phone", lambda: shots(browser, served))
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
                    finally:
                        # A refused save is told by the browser too.
                        watch.wrong = [one for one in watch.wrong if "status of 409" not in one]
                    watch.check()
                return tried

            for act in ACTS:
                attempt(act.__name__, whole(act))
            browser.close()
    finally:
        served.end()


main()
