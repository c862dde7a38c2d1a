#!/usr/bin/env python3
"""The weather of the repo: a Nacre plugin in one file, without dependencies.

Before you leave the house you look out of the window. Before an agent commits, it could look at the repository: is a
merge half done, is HEAD on no branch, is there work in the stash that somebody forgot? This plugin looks, and says a
line only when there is weather to speak of. Run it by hand: it reads JSON lines and answers each with one.
"""

import json
import re
import sys
from pathlib import Path

# Only those who are about to go out want to hear of the weather.
GOING_OUT = re.compile(r"\b(commit|push|pull|merge|rebase|branch|release|deploy|stash)", re.IGNORECASE)

# What lies in .git while something is under way.
STORMS = {
    "MERGE_HEAD": "a merge is half done",
    "rebase-merge": "a rebase is half done",
    "rebase-apply": "a rebase is half done",
    "CHERRY_PICK_HEAD": "a cherry-pick is half done",
    "REVERT_HEAD": "a revert is half done",
    "BISECT_LOG": "a bisect is under way",
}


def look_out(folder):
    """Yields what can be seen. It reads .git instead of running git, which would run what the folder's own
    configuration tells it to, and the folder may be a stranger's."""
    git = next((up / ".git" for up in [folder, *folder.parents] if (up / ".git").is_dir()), None)
    if git is None:
        return
    for sign, storm in STORMS.items():
        if (git / sign).exists():
            yield f"Storm: {storm}. Finish or abort it first.", f".git/{sign} is there"
    if not (git / "HEAD").read_text(errors="replace").startswith("ref:"):
        yield "Fog: HEAD is on no branch. A commit made now is easily lost.", ".git/HEAD names a commit"
    stash = git / "logs/refs/stash"
    if stash.exists() and (count := len(stash.read_bytes().splitlines())):
        yield f"Rain: {count} in the stash, perhaps forgotten.", ".git/logs/refs/stash has lines"


def answer(question):
    """Nacre asks three things: who are you, what do you say to this message, and would you please go."""
    if question["hook"] == "initialize":
        return {"protocol": 1, "name": "weather of the repo", "version": "1.0", "hooks": ["turn"]}
    lines = []
    if question["hook"] == "turn" and GOING_OUT.search(question["message"]) and question["folder"]:
        lines = [{"text": text, "reason": reason} for text, reason in look_out(Path(question["folder"]))]
    # Most of the time the sun shines, and nothing is said: every line costs the agent attention.
    return {"lines": lines}


# One question a line, one answer a line, with the question's id. The end of the input is the end of the plugin.
for line in sys.stdin:
    question = json.loads(line)
    if question["hook"] == "shutdown":
        break
    print(json.dumps({"id": question["id"], **answer(question)}), flush=True)
