"""Agents themselves, with `nacre install` and a scripted model on loopback. Claude Code, Codex and Gemini CLI are told what is
remembered, they remember, another conversation finds it, and many at once lose nothing; OpenClaw calls the tools. Then
the plugins: that of Claude Code in two programs, and that of OpenClaw."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from model import Model
from story import check

NACRE, CLAUDE, CODEX, GEMINI, OPENCODE, OPENCLAW, NODE = sys.argv[1:]
PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
# Longer than any conversation takes on the slowest machine.
PATIENCE = 120

BLOCK = re.compile(r'<memory source="nacre"[^>]*>(.*?)</memory>', re.DOTALL)


class Place:
    """A folder with a home for Nacre and one for each agent; everything that runs writes below it."""

    def __init__(self, folder, model):
        self.folder, self.model = Path(folder), model

    def environment(self, user):
        home = self.folder / user
        (home / "work").mkdir(parents=True, exist_ok=True)
        (home / "tmp").mkdir(exist_ok=True)
        path = f"{home / 'bin'}:{Path(NODE).parent}:/usr/local/bin:/usr/bin:/bin"
        return {"HOME": str(home), "TMPDIR": str(home / "tmp"), "PATH": path, "LANG": "C.UTF-8"}

    def nacre(self, *arguments, user="person", group="main"):
        command = [NACRE, "--home", str(self.folder / "nacre"), "--group", group, *arguments]
        return run(command, self.environment(user), self.folder)

    def json(self, *arguments, group="main"):
        return json.loads(self.nacre("--json", *arguments, group=group))

    def settled(self, group="main"):
        """Waits until what hooks put down is taken in; it is by itself."""
        spool = self.folder / "nacre" / "groups" / group / "spool"
        end = time.monotonic() + PATIENCE
        while list(spool.glob("*.json")):
            assert time.monotonic() < end, f"the spool still has {[file.name for file in spool.iterdir()]}"
            time.sleep(0.05)


def run(command, environment, folder):
    """Runs to its end; one that does not come to it is ended with all it started."""
    process = subprocess.Popen(
        command, env=environment, cwd=folder, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    try:
        output, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        raise AssertionError(f"{command[0]} did not end: {output[-1000:]} {errors[-1000:]}") from None
    assert process.returncode == 0, f"{command[0]} ended with {process.returncode}: {output[-1500:]} {errors[-1500:]}"
    return output


class ClaudeCode:
    name, files = "claude-code", [".claude.json", ".claude/settings.json"]
    tools = "mcp__nacre"

    def prepare(self, place, user):
        pass

    def talk(self, place, user, prompt, *flags):
        return self.run(place, user, "-p", prompt, "--allowedTools", self.tools, *flags)

    def run(self, place, user, *arguments):
        environment = place.environment(user) | {
            "ANTHROPIC_BASE_URL": place.model.url,
            "ANTHROPIC_API_KEY": "sk-none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        return run([CLAUDE, *arguments], environment, place.folder / user / "work")

    def add_plugin(self, place, user):
        self.tools = "mcp__plugin_nacre_nacre"
        self.run(place, user, "plugin", "marketplace", "add", str(PLUGINS.parent))
        self.run(place, user, "plugin", "install", "nacre@nacre")


class Codex:
    name, files = "codex", [".codex/config.toml", ".codex/hooks.json"]

    def prepare(self, place, user):
        folder = place.folder / user / ".codex"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(
            "# The model of the test.\n"
            'model = "none"\nmodel_provider = "none"\n\n'
            f'[model_providers.none]\nname = "none"\nbase_url = "{place.model.url}/v1"\nwire_api = "responses"\n'
        )

    def talk(self, place, user, prompt):
        # A person trusts the hooks by hand, once; nobody is here.
        return self.run(place, user, "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", prompt)

    def run(self, place, user, *arguments):
        return run([CODEX, *arguments], place.environment(user), place.folder / user / "work")

    def add_plugin(self, place, user):
        self.run(place, user, "plugin", "marketplace", "add", str(PLUGINS.parent))
        self.run(place, user, "plugin", "add", "nacre@nacre")


class GeminiCli:
    name, files = "gemini-cli", [".gemini/settings.json"]

    def prepare(self, place, user):
        write(place.folder / user / ".gemini/settings.json", '{\n  // The model of the test.\n  "security": { "auth": { "selectedType": "gemini-api-key" } }\n}\n')

    def talk(self, place, user, prompt):
        environment = place.environment(user) | {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": place.model.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        # A model of its own choice would be asked for first.
        command = [NODE, GEMINI, "--model", "gemini-2.5-flash", "--approval-mode", "yolo", "--prompt", prompt]
        return run(command, environment, place.folder / user / "work")


class OpenCode:
    name, files = "opencode", [".config/opencode/opencode.jsonc"]

    def prepare(self, place, user):
        options = f'{{ "baseURL": "{place.model.url}/v1", "apiKey": "none" }}'
        provider = f'{{ "npm": "@ai-sdk/anthropic", "options": {options}, "models": {{ "none": {{ "name": "none" }} }} }}'
        text = f'{{\n\t// The model of the test.\n\t"$schema": "https://opencode.ai/config.json",\n\t"model": "none/none",\n\t"provider": {{ "none": {provider} }},\n}}\n'
        write(place.folder / user / self.files[0], text)

    def run(self, place, user, *arguments):
        quiet = ["DISABLE_MODELS_FETCH", "DISABLE_AUTOUPDATE", "DISABLE_DEFAULT_PLUGINS"]
        environment = place.environment(user) | {f"OPENCODE_{name}": "1" for name in quiet}
        return run([OPENCODE, *arguments], environment, place.folder / user / "work")

    def lists(self, place, user):
        said = self.run(place, user, "mcp", "list")
        assert "nacre" in said and "connected" in said, said

    def talk(self, place, user, prompt):
        return self.run(place, user, "run", prompt)


class OpenClaw:
    name, files = "openclaw", [".openclaw/openclaw.json"]

    def prepare(self, place, user):
        provider = {"baseUrl": place.model.url, "apiKey": "none", "api": "anthropic-messages", "models": [{"id": "none", "name": "none"}]}
        settings = {
            "models": {"providers": {"none": provider}},
            "agents": {"defaults": {"model": {"primary": "none/none"}}},
            # Else they would have to be searched for.
            "tools": {"toolSearch": False},
        }
        write(place.folder / user / self.files[0], "// The model of the test.\n" + json.dumps(settings, indent=3))

    def run(self, place, user, *arguments):
        return run([NODE, OPENCLAW, *arguments], place.environment(user), place.folder / user / "work")

    def lists(self, place, user):
        said = self.run(place, user, "mcp", "probe", "nacre", "--json")
        assert "nacre__memory_store" in json.loads(said[said.index("{"):])["tools"], said

    def talk(self, place, user, prompt, *flags):
        answer = self.run(place, user, "agent", "--local", "--agent", "main", "--message", prompt, "--json", *flags)
        return json.loads(answer[answer.index("{"):])["meta"]["finalAssistantVisibleText"]

    def add_plugin(self, place, user):
        self.run(place, user, "plugins", "install", "--link", str(PLUGINS / "openclaw"), "--force", "--accept-capabilities")
        file = place.folder / user / self.files[0]
        settings = json.loads(file.read_text())
        entry = settings["plugins"]["entries"]["nacre"]
        entry["hooks"] = {"allowConversationAccess": True}
        entry["config"] = {"command": NACRE, "home": str(place.folder / "nacre")}
        file.write_text(json.dumps(settings))


AGENTS = [ClaudeCode(), Codex()]


def blocks(request):
    """What Nacre put into a conversation: the brief and the turns. A result of a tool is no such block."""
    return [block.strip() for block in BLOCK.findall(request.text)]


def exchanges(place, group="main"):
    """Every line of what is kept of all conversations."""
    sessions = place.json("session", "list", group=group)["sessions"]
    shown = [place.json("session", "show", session["id"], group=group)["messages"] for session in sessions]
    return [line for messages in shown for message in messages for line in message["text"].splitlines()]


def one_after_the_other(agent):
    """A memory that the person has, one that the agent stores, and a second conversation that finds it."""
    store = {"content": "The word for the deploy gate is halcyon", "type": "fact", "tags": ["deploy"]}
    scripts = {
        "talk-first": [("memory_store", store), "Noted: halcyon."],
        "talk-second": [("memory_search", {"query": "deploy gate word"}), "It is halcyon."],
    }
    model = Model(scripts)
    with tempfile.TemporaryDirectory() as folder:
        place, name = Place(folder, model), agent.name
        place.environment("user")
        agent.prepare(place, "user")
        before = {file: read(place.folder / "user" / file) for file in agent.files}
        with check(f"{name}: install, twice the same as once"):
            place.nacre("install", agent.name, user="user")
            written = {file: read(place.folder / "user" / file) for file in agent.files}
            place.nacre("install", agent.name, user="user")
            assert written == {file: read(place.folder / "user" / file) for file in agent.files}
            assert all(NACRE in text for text in written.values()), written
        place.nacre("store", "The user drinks lapsang tea", "--type", "preference")
        with check(f"{name}: a conversation gets the brief and a block for its message"):
            said = agent.talk(place, "user", "talk-first: which tea do I drink?")
            assert "Noted: halcyon." in said, said
            first = model.requests["talk-first"][0]
            brief, turn = blocks(first)
            assert "Preferences and instructions" in brief and "lapsang tea" in brief, brief
            assert "Preferences and instructions" not in turn and "lapsang tea" in turn, turn
            assert "halcyon" not in first.text
        with check(f"{name}: the agent stores a memory by a tool call"):
            answers = model.requests["talk-first"][-1].results
            assert len(answers) == 1 and re.search(r'"number": ?2\b|\[id:2\]', answers[0]), answers
            entry = place.json("show", "2")
            assert entry["content"] == store["content"] and entry["provenance"]["source"] == "agent", entry
        with check(f"{name}: a second conversation is told, and finds it by a tool call"):
            said = agent.talk(place, "user", "talk-second: what is the word for the deploy gate?")
            assert "It is halcyon." in said, said
            brief, turn = blocks(model.requests["talk-second"][0])
            assert "deploy gate is halcyon" in brief and "deploy gate is halcyon" in turn, (brief, turn)
            answers = model.requests["talk-second"][-1].results
            assert len(answers) == 1 and "halcyon" in answers[0], answers
        with check(f"{name}: both exchanges are archived, each once, and nothing of ours in them"):
            place.settled()
            sessions = [session["id"] for session in place.json("session", "list")["sessions"]]
            # Gemini CLI and OpenCode tell their servers of no session.
            if name not in ("gemini-cli", "opencode"):
                assert entry["provenance"]["session"] in sessions, "what is stored has the session of what is said"
            kept = exchanges(place)
            # OpenCode puts a prompt with spaces in quotes.
            kept = [line.strip('"') for line in kept]
            expected = ["It is halcyon.", "Noted: halcyon."]
            assert sorted(line for line in kept if not line.startswith("talk-")) == expected, kept
            assert sorted(line.split(":")[0] for line in kept if line.startswith("talk-")) == list(scripts), kept
            assert not any('<memory source="nacre"' in line for line in kept), kept
        with check(f"{name}: undo leaves the settings as they were"):
            kept = {file: read(place.folder / "user" / file) for file in agent.files}
            place.nacre("install", agent.name, "--undo", user="user")
            after = {file: read(place.folder / "user" / file) for file in agent.files}
            for file in agent.files:
                # The agent may have written settings of its own meanwhile; those stay.
                if kept[file] == written[file]:
                    assert after[file] == before[file], (file, after[file])
                else:
                    assert NACRE not in (after[file] or ""), (file, after[file])
    model.close()


def listed(agent):
    """An agent without hooks finds the tools, and its settings come back as they were."""
    model = Model({})
    with tempfile.TemporaryDirectory() as folder:
        place, name = Place(folder, model), agent.name
        place.environment("user")
        agent.prepare(place, "user")
        file = place.folder / "user" / agent.files[0]
        before = read(file)
        with check(f"{name}: the tools are listed, and uninstall leaves the settings as they were"):
            place.nacre("install", name, user="user")
            written = read(file)
            assert NACRE in written and NACRE not in before
            agent.lists(place, "user")
            assert read(file) == written, "it has rewritten its settings"
            place.nacre("uninstall", name, user="user")
            assert read(file) == before, read(file)
    model.close()


def plugin(agent):
    """The plugin in place of `nacre install`: told by hooks, and the tools called. It finds `nacre` on the PATH."""
    store = {"content": "The word for the deploy gate is halcyon", "type": "fact"}
    model = Model({"talk-first": [("memory_store", store), "Noted: halcyon."]})
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, model)
        place.environment("user")
        agent.prepare(place, "user")
        user = place.folder / "user"
        for link, target in [(user / "bin" / "nacre", NACRE), (user / ".local/share/nacre", place.folder / "nacre")]:
            link.parent.mkdir(parents=True)
            link.symlink_to(target)
        place.nacre("store", "The user drinks lapsang tea", "--type", "preference")
        with check(f"{agent.name}: its plugin tells what is remembered, and brings the tools"):
            if agent.name == "claude-code":
                agent.run(place, "user", "plugin", "validate", str(PLUGINS / "nacre"))
                agent.run(place, "user", "plugin", "validate", str(PLUGINS.parent))
            agent.add_plugin(place, "user")
            said = agent.talk(place, "user", "talk-first: which tea do I drink?")
            assert "Noted: halcyon." in said, said
            brief, turn = blocks(model.requests["talk-first"][0])
            assert "Preferences and instructions" in brief and "lapsang tea" in turn, (brief, turn)
            assert place.json("show", "2")["content"] == store["content"]
            place.settled()
            assert "Noted: halcyon." in exchanges(place)
    model.close()


def memory_of_openclaw(agent):
    """Nacre in OpenClaw's slot for memory, beside its MCP server: searched, read, told, archived."""
    store = {"content": "The word for the deploy gate is halcyon", "type": "fact"}
    calls = [("=memory_search", {"query": "tea"}), ("=memory_get", {"path": "entry/1"}), ("=memory_get", {"path": "memory/none.md"})]
    ask = [("=memory_search", {"query": "where is my tea kept"}), "So it is."]
    model = Model({"talk-first": [*calls, ("memory_store", store), "It is lapsang."], "talk-alone": ask, "talk-group": ask})
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, model)
        place.environment("user")
        agent.prepare(place, "user")
        place.nacre("store", "The user drinks lapsang tea", "--type", "preference")
        with check("openclaw: the memory plugin is loaded into the slot"):
            place.nacre("install", agent.name, user="user")
            agent.add_plugin(place, "user")
            shown = agent.run(place, "user", "plugins", "inspect", "nacre", "--runtime", "--json")
            shown = json.loads(shown[shown.index("{"):])
            found = shown["plugin"]
            assert found["status"] == "loaded" and found["memorySlotSelected"], found
            assert found["toolNames"] == ["memory_search", "memory_get"] and not shown["diagnostics"], shown
        with check("openclaw: its tools answer, what is remembered is told, what is said is archived"):
            said = agent.talk(place, "user", "talk-first: which tea do I drink?")
            assert "It is lapsang." in said, said
            brief, turn = blocks(model.requests["talk-first"][0])
            assert "Preferences and instructions" in brief and "lapsang tea" in turn, (brief, turn)
            found, got, missing, stored = model.requests["talk-first"][-1].results
            hit = json.loads(found)["results"][0]
            assert hit["path"] == "entry/1" and hit["snippet"].endswith("\n\nSource: entry/1#L1-L1"), hit
            assert {"startLine", "endLine", "score", "source", "corpus", "provenance"} <= set(hit), hit
            assert json.loads(got)["text"] == "The user drinks lapsang tea", got
            assert json.loads(missing)["status"] == "not_found", missing
            assert place.json("show", "2")["provenance"]["source"] == "agent", stored
            place.settled()
            kept = exchanges(place)
            assert "talk-first: which tea do I drink?" in kept and "It is lapsang." in kept, kept
            assert not any('<memory source="nacre"' in line for line in kept), kept
        with check("openclaw: a session of a group does not see what is private"):
            place.nacre("call", "memory_store", json.dumps({"content": "The user's own tea is kept behind the clock", "private": True}))
            agent.talk(place, "user", "talk-alone: where is my tea kept?", "--session-key", "agent:main:alone")
            agent.talk(place, "user", "talk-group: where is my tea kept?", "--session-key", "agent:main:telegram:group:7")
            (alone,), (group,) = (model.requests[name][-1].results for name in ("talk-alone", "talk-group"))
            assert "behind the clock" in alone and "behind the clock" not in group, (alone, group)
            assert "behind the clock" not in model.requests["talk-group"][-1].text
    model.close()


def compacted(agent):
    """What was remembered is told again after a conversation was compacted, and what lasts is asked for."""
    model = Model({"talk-long": ["A long story."]})
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, model)
        place.environment("user")
        place.nacre("install", agent.name, user="user")
        place.nacre("store", "The user drinks lapsang tea", "--type", "preference")
        with check(f"{agent.name}: the brief comes again after compaction, and the flush is told"):
            agent.talk(place, "user", "talk-long: tell me a story")
            agent.talk(place, "user", "/compact", "--continue")
            agent.talk(place, "user", "talk-long: and then?", "--continue")
            flushed = [event for event in place.json("events") if event["event"] == "memory:flush"]
            assert len(flushed) == 1, flushed
            told = blocks(model.requests["talk-long"][-1])
            assert any("just compacted" in block for block in told), told
            assert any("Preferences and instructions" in block and "lapsang" in block for block in told), told
            assert "A long story." in model.requests["talk-long"][-1].text
            place.settled()
    model.close()


def at_once():
    """Two conversations of each agent in one group, and one of each in another, all at the same time."""
    stored = 3
    talks = []
    for number, (agent, group) in enumerate([(a, g) for g in ("main", "main", "other") for a in AGENTS]):
        talks.append((f"talk-{number}", agent, group, f"user-{number}"))
    topics = ["harbour crane", "violin varnish", "beehive winter", "glacier survey", "tram ticket", "sourdough oven"]
    scripts = {}
    for (name, _, _, _), topic in zip(talks, topics):
        store = [("memory_store", {"content": f"Note {n} about the {topic}, from {name}"}) for n in range(stored)]
        scripts[name] = [*store, f"Done with {name}."]
    model = Model(scripts)
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, model)
        for (name, agent, group, user), topic in zip(talks, topics):
            place.environment(user)
            agent.prepare(place, user)
            place.nacre("install", agent.name, user=user, group=group)
            place.nacre("store", f"The {topic} is kept under the number {name}", group=group)

        def talk(item):
            (name, agent, _, user), topic = item
            return agent.talk(place, user, f"{name}: what do you know about the {topic}?")

        with check("at once: every conversation comes to its end"):
            with ThreadPoolExecutor(len(talks)) as pool:
                said = list(pool.map(talk, zip(talks, topics)))
            for (name, _, _, _), text in zip(talks, said):
                assert f"Done with {name}." in text, (name, text)
        for (name, agent, group, _), topic in zip(talks, topics):
            with check(f"at once: {agent.name} {name} in `{group}` has its own blocks and no other's"):
                brief, turn = blocks(model.requests[name][0])
                assert "Facts:" in brief and "Facts:" not in turn, (brief, turn)
                assert f"kept under the number {name}" in turn, turn
                for request in model.requests[name]:
                    assert blocks(request) == [brief, turn], "the blocks of the first request are those of all"
                    for (other, _, elsewhere, _), _ in zip(talks, topics):
                        assert elsewhere == group or other not in request.text, f"{other} of `{elsewhere}` is in `{group}`"
        for group in ("main", "other"):
            of_group = [(name, topic) for (name, _, its, _), topic in zip(talks, topics) if its == group]
            with check(f"at once: nothing is lost in `{group}`, and nothing is there twice"):
                place.settled(group)
                found = place.json("search", "--limit", "100", group=group)["hits"]
                texts = sorted(hit["text"] for hit in found)
                notes = [f"Note {n} about the {topic}, from {name}" for name, topic in of_group for n in range(stored)]
                kept = [f"The {topic} is kept under the number {name}" for name, topic in of_group]
                assert texts == sorted(notes + kept), texts
                kept = sorted(line for line in exchanges(place, group) if line.startswith("Done with "))
                assert kept == [f"Done with {name}." for name, _ in of_group], kept
                assert place.json("doctor", group=group)["ok"]
    model.close()


def read(file):
    return file.read_text() if file.exists() else None


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


ONLY = os.environ.get("AGENT")


def take(steps):
    for name, step, *arguments in steps:
        if ONLY in (None, name):
            step(*arguments)


take([(each.name, one_after_the_other, each) for each in [*AGENTS, GeminiCli()]])
take([("claude-code", compacted, AGENTS[0]), ("at-once", at_once)])
# OpenClaw takes its time.
with ThreadPoolExecutor(2) as lanes:
    slow = [("openclaw", listed, OpenClaw()), ("openclaw", memory_of_openclaw, OpenClaw())]
    rest = [("opencode", listed, OpenCode()), ("opencode", one_after_the_other, OpenCode())]
    rest += [("claude-code", plugin, ClaudeCode()), ("codex", plugin, Codex())]
    for lane in [lanes.submit(take, slow), lanes.submit(take, rest)]:
        lane.result()
