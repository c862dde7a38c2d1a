"""How fast the dashboard is with a large memory: 100,000 messages, one conversation of 46,000 of them, and 5,000 entities.

    python measure.py NACRE CHROMIUM [FOLDER OF THE DATA, KEPT] [FOLDER OF THE PAGE'S FILES, IF NOT THOSE OF NACRE]

Prints the milliseconds until each view is complete, and from the last key to the first results."""

import datetime
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile

from playwright.sync_api import sync_playwright

from served import Served

NACRE, CHROMIUM = sys.argv[1], sys.argv[2]
VIEWS = ["home", "memory", "approvals", "sessions", "sessions/big", "sessions/big?at=2026-01-20T00:00:00Z", "graph", "timeline", "files", "tasks", "health"]
QUERIES = ["heron port release", "who moved the export to kestrel", "backup schema", "osprey-db sensor budget", "linter review", "wren"]

NAMES = [bird + part for bird in ["alder", "dunlin", "egret", "gannet", "heron", "kestrel", "osprey", "plover", "swift", "wren"] for part in ["", "-db", "-api", "-web", "-jobs"]]
VERBS = ["restarts", "moved to", "depends on", "was tested with", "ships after", "writes to"]
THINGS = "port cluster release queue export backup branch review linter budget sensor harbour ledger schema worker bucket".split()

OPENED = """async (hash) => {
  const begun = performance.now();
  document.querySelector('.room')?.removeAttribute('data-ready');
  if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange')); else location.hash = hash;
  while (!document.querySelector('.room[data-ready]') || location.hash.split('?')[0] !== hash.split('?')[0]) await new Promise((done) => setTimeout(done, 2));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - begun;
}"""
TYPED = """async (text) => {
  const box = document.querySelector('input[name=q]');
  const hits = document.querySelector('.hits');
  box.value = text;
  const begun = performance.now();
  const changed = new Promise((done) => new MutationObserver((_, watch) => { watch.disconnect(); done(); }).observe(hits, { childList: true }));
  box.dispatchEvent(new Event('input'));
  await changed;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return [performance.now() - begun, hits.querySelectorAll('.hit').length];
}"""


WHOLE = """async () => {
  const begun = performance.now();
  [...document.querySelectorAll('.graphbar button')].find((one) => one.textContent === 'Whole graph').click();
  const canvas = document.querySelector('canvas');
  const drawn = () => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0);
  while (!canvas.getAttribute('aria-label').includes('clusters') || !drawn()) await new Promise((done) => requestAnimationFrame(done));
  return performance.now() - begun;
}"""


def write(folder):
    """Writes invented conversations and a graph."""
    random.seed(4)
    start = datetime.datetime(2026, 1, 1)
    pick = random.choice
    with open(folder / "talk.jsonl", "w") as file:
        count = 0
        for session, messages in [("big", 46_000)] + [(f"talk-{number}", 270) for number in range(200)]:
            for place in range(messages):
                at = (start + datetime.timedelta(minutes=count)).strftime("%Y-%m-%dT%H:%M:%SZ")
                text = f"{pick(NAMES)} {pick(VERBS)} {pick(NAMES)} because the {pick(THINGS)} and the {pick(THINGS)} need {pick(THINGS)} number {random.randint(1, 9999)}."
                file.write(json.dumps(dict(session=session, id=f"{session}-{place}", speaker="user" if place % 2 == 0 else "assistant", timestamp=at, text=text)) + "\n")
                count += 1
    kinds = ["person", "project", "tool", "host", "place", "organization"]
    entities = [f"{pick(['Anna', 'Ben', 'Carla', 'David', 'Eva', 'Finn'])} {pick(NAMES)} {number}" for number in range(5_000)]
    with open(folder / "graph.jsonl", "w") as file:
        for number, name in enumerate(entities):
            file.write(json.dumps(dict(type="entity", name=name, entityType=kinds[number % 6], observations=[])) + "\n")
        for _ in range(8_000):
            one, other = min(int(random.expovariate(1 / 400)), 4_999), random.randrange(5_000)
            file.write(json.dumps({"type": "relation", "from": entities[one], "to": entities[other], "relationType": pick(["owns", "works_on", "runs_on", "knows"])}) + "\n")


def main():
    folder = pathlib.Path(sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp())
    served = Served(NACRE, folder)
    try:
        if not (folder / "talk.jsonl").exists():
            write(folder)
            served.run("session", "import", str(folder / "talk.jsonl"))
            served.run("import", "mcp-memory", str(folder / "graph.jsonl"))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            context = browser.new_context(viewport=dict(width=1440, height=900))
            if len(sys.argv) > 4:
                web = pathlib.Path(sys.argv[4])
                kinds = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
                give = lambda path: dict(body=path.read_bytes(), content_type=kinds[path.suffix])
                context.route("**/assets/**", lambda route: route.fulfill(**give(web / route.request.url.split("/assets/")[1])))
                context.route(served.url + "/", lambda route: route.fulfill(**give(web / "index.html")))
            page = context.new_page()
            page.goto(served.link())
            page.wait_for_selector(".room[data-ready]")
            paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
            print(f"first paint {paint:.0f} ms; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
            for view in VIEWS:
                times = []
                for _ in range(3):
                    page.evaluate(OPENED, "#/files" if view == "tasks" else "#/tasks")
                    times.append(page.evaluate(OPENED, f"#/{view}"))
                print(f"{view}: {statistics.median(times):.0f} ms, at most {max(times):.0f}")
            times = []
            for _ in range(3):
                page.evaluate(OPENED, "#/tasks")
                page.evaluate(OPENED, "#/graph")
                times.append(page.evaluate(WHOLE))
            print(f"whole graph: {statistics.median(times):.0f} ms, at most {max(times):.0f}")
            page.evaluate(OPENED, "#/memory?in=entries,memory,graph,sessions")
            times = []
            for query in QUERIES * 3:
                took, hits = page.evaluate(TYPED, query)
                times.append(took)
            print(f"first results after typing: {statistics.median(times):.0f} ms, at most {max(times):.0f}, with {hits} hits")
            browser.close()
    finally:
        served.end()


main()
