"""A server in a home of its own, with invented data for each view of the dashboard."""

import datetime
import json
import pathlib
import subprocess
import tempfile
import time
import urllib.request

HOSTILE = (
    "<script>window.__pwned=1</script><img src=x onerror='window.__pwned=2'><svg onload=window.__pwned=3>"
    "\u202egnp.exe javascript:window.__pwned=4 [x](javascript:window.__pwned=5) {{7*7}} " + "W" * 300
)

MEMORIES = [
    ("Petra prefers tea over coffee in the morning", "preference", ["drinks"]),
    ("The staging database is called heron and lives in Lübeck", "fact", ["infra", "database"]),
    ("Always run the linter before a commit", "instruction", ["code"]),
    ("The harbour office opens at nine", "fact", ["harbour"]),
    ("The project Osprey ships in March; the importer is the last open part", "context", ["osprey"]),
    ("Keep answers short and show the command first", "preference", ["style"]),
    ("The nightly export writes to the bucket osprey-exports and takes forty minutes", "fact", ["infra", "export"]),
    ("Production runs on three nodes in Lübeck behind kestrel", "fact", ["infra"]),
    ("Never force-push to main; open a pull request instead", "instruction", ["git"]),
    ("The staging database was moved to port 5433, not 5432", "correction", ["database"]),
]

NOTES = """# Heron

## What it is

Heron is the staging database. Petra owns heron. It listens on port 5433.

## Restart

1. Drain the connections.
2. Run `systemctl restart heron`.
3. Check the [runbook](osprey.md).

| node | role |
| --- | --- |
| heron-1 | primary |
| heron-2 | replica |
"""


class Served:
    """A running server and its home."""

    def __init__(self, nacre, folder=None):
        self.nacre = str(pathlib.Path(nacre).resolve())
        self.folder = None if folder else tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.home = pathlib.Path(folder or self.folder.name) / "home"
        self.run("init")
        self.agent = self.run("token", "add", "agent", "--private").strip()
        self.process = subprocess.Popen([self.nacre, "--home", str(self.home), "serve", "--listen", "127.0.0.1:0"], stderr=subprocess.DEVNULL, env={"HOME": str(self.home.parent), "PATH": "/usr/bin:/bin"})
        noted = self.home / "serve.json"
        for _ in range(300):
            if noted.exists():
                break
            time.sleep(0.1)
        noted = json.loads(noted.read_text())
        self.url, self.key = noted["url"], noted["key"]

    def run(self, *args):
        # Not in the repository: memories would belong to its project.
        done = subprocess.run([self.nacre, "--home", str(self.home), *args], capture_output=True, text=True, cwd=self.home.parent)
        return done.stdout

    def ask(self, path, body=None, token=None, group="main"):
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {token or self.key}", "content-type": "application/json"} | ({} if token else {"nacre-group": group}),
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def tool(self, name, token=None, group="main", **arguments):
        return self.ask(f"/v1/tools/{name}", arguments, token, group)

    def link(self):
        return self.url + self.ask("/v1/login", {})["path"]

    def save(self, path, content):
        read = self.tool("file_show", path=path)
        base = {"base": read["hash"]} if "hash" in read else {}
        self.tool("file_save", path=path, content=content, **base)

    def propose(self, path, reason, **change):
        return self.tool("memory_write", token=self.agent, path=path, reason=reason, **change)

    def fill(self):
        for text, kind, tags in MEMORIES:
            self.tool("memory_store", content=text, type=kind, tags=tags)
        self.tool("memory_store", content="The harbour office opens at eight", supersedes=4)
        for entity, key, value in [("Petra Lindholm", "port", "Lübeck"), ("Petra Lindholm", "role", "captain"), ("Osprey", "status", "late"), ("Osprey", "status", "on time"), ("Heron", "port", "5433")]:
            self.tool("fact_upsert", entity=entity, key=key, value=value)
        for subject, predicate, thing in [
            ("Petra Lindholm", "works_on", "Osprey"), ("Osprey", "depends_on", "Heron"), ("Mikkel Dahl", "works_on", "Osprey"),
            ("Petra Lindholm", "knows", "Mikkel Dahl"), ("Heron", "located_in", "Lübeck"), ("Petra", "owns", "Heron"),
        ]:
            self.tool("relation_add", subject=subject, predicate=predicate, object=thing)
        self.tool("task_add", description="Write the release notes", milestone="M1", priority=1, acceptance_criteria=["they name every change"])
        self.tool("task_add", description="Ship the release", milestone="M1", blocked_by=["TASK-001"])
        self.tool("task_add", description="Tell the customers about the new importer", milestone="M1", blocked_by=["TASK-002"])
        self.tool("session_append", id="talk-1", messages=[
            {"role": "user", "content": "When does the harbour office open? I need to be there before the ferry."}, {"role": "assistant", "content": "At eight."},
            {"role": "user", "content": "And who has the key?"}, {"role": "assistant", "content": "Petra has the key of the harbour office."}])
        self.tool("session_append", id="talk-2", messages=[
            {"role": "user", "content": "Which port does the staging database use?"}, {"role": "assistant", "content": "Heron listens on port 5433."}])
        self.save("MEMORY.md", "# Memory\n\n## Boat\n\n- The boat is red.\n\n## Mast\n\n- The mast is new.\n\n## Sail\n\n- The sail was mended in spring.\n")
        self.save("memory/topics/heron.md", NOTES)
        self.save("memory/topics/osprey.md", "# Osprey\n\nOsprey ships in March. It depends on heron.\n")
        for day in ["2026-01-12", "2026-02-17", "2026-02-18"]:
            self.save(f"memory/{day}.md", f"# {day}\n\n- [decision|i=0.8] Osprey ships in March\n- [note|i=0.3] Petra mended the sail\n")
        self.propose("MEMORY.md", "Petra painted it", mode="edit", old="The boat is red.", content="The boat is blue.")
        self.propose("MEMORY.md", "the user said who mended the sail", mode="edit", old="The sail was mended in spring.", content="Mikkel mended the sail in spring.")
        self.propose("USER.md", "it was said twice", content="# User\n\n- Likes tea.\n")
        for _ in range(12):
            self.tool("memory_search", token=self.agent, query="harbour")
        self.tool("memory_brief", token=self.agent)
        self.tool("memory_store", group="garden", content="The roses are pruned in February")

        self.use()

    def use(self):
        """An older conversation, and two weeks of an agent that uses the memory, as its hooks and the telemetry file record it."""
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp = lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        older = self.home.parent / "older.jsonl"
        with open(older, "w") as file:
            for place in range(60):
                at = stamp(now - datetime.timedelta(days=40 - 0.02 * place * place / 2))
                text = f"What is left of the importer after part {place // 2}?" if place % 2 == 0 else f"The reader of attachments, part {place // 2 + 1}."
                file.write(json.dumps(dict(session="importer", id=f"importer-{place}", speaker="user" if place % 2 == 0 else "assistant", timestamp=at, text=text)) + "\n")
        self.run("session", "import", str(older))
        (self.home / "hooks").mkdir(exist_ok=True)
        (self.home / "hooks/claude-code.json").write_text(json.dumps(dict(event="turn", at=stamp(now))))
        with open(self.home / "telemetry.jsonl", "a") as file:
            for days in range(13, 0, -1):
                event = dict(event="memory:read", at=stamp(now - datetime.timedelta(days=days)), group="main", session="s")
                file.write(json.dumps(event | dict(type="brief", path="brief", size=2_400 + 800 * (days % 4))) + "\n")
                for turn in range(3 + days % 5):
                    file.write(json.dumps(event | dict(type="turn", path="turn", size=240, tokens=60 + 9 * turn, lines=2)) + "\n")
                for search in range(1 + days % 3):
                    file.write(json.dumps(event | dict(event="memory:answer", tool="memory_search", tokens=220 + 70 * search)) + "\n")

    def poison(self):
        """Puts hostile text into every field that the dashboard shows."""
        eve = "Eve <img src=x onerror=window.__pwned=7>"
        self.tool("memory_store", content=HOSTILE, tags=["<b onmouseover=window.__pwned=6>tag"])
        self.tool("fact_upsert", entity=eve, key="<i>key</i>", value=HOSTILE)
        self.tool("relation_add", subject=eve, predicate="knows", object="</script><script>window.__pwned=8</script>")
        self.tool("task_add", description=HOSTILE, milestone="<script>window.__pwned=9</script>", acceptance_criteria=[HOSTILE])
        self.tool("session_append", id="<script>x</script>", messages=[{"role": "user", "content": HOSTILE}])
        self.propose("SOUL.md", HOSTILE, content=HOSTILE)
        self.tool("alias_add", alias="<img src=x onerror=window.__pwned=14>", entity=eve)
        self.run("token", "add", "<img src=x onerror=window.__pwned=15>")
        self.save("CONTEXT.md", f"---\ntitle: {HOSTILE}\n---\n# {HOSTILE}\n- [<img src=x onerror=window.__pwned=11>|i=0.5] {HOSTILE}\n\n| {HOSTILE} |\n| --- |\n| ![x](x) |\n\n> {HOSTILE}\n\n[[{HOSTILE}]] **<b>{HOSTILE}</b>** `{HOSTILE}`\n")

    def end(self):
        self.process.terminate()
        self.process.wait(20)
        if self.folder:
            self.folder.cleanup()
