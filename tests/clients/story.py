"""What every client does with the memory, told once, and how a check is counted."""

from contextlib import contextmanager

# Entries are numbered from 1 in a fresh home, so that the story can name them before they are stored.
# Each call: the tool, its arguments, and a text that its answer has to hold. A profile without the tool passes over the call.
CALLS = [
    ("memory_store", {"content": "The user drinks tea in the morning.", "type": "preference", "tags": ["drinks"]}, "[id:1]"),
    ("memory_store", {"content": "The staging database runs PostgreSQL 15.", "type": "fact", "tags": "infra, database"}, "[id:2]"),
    ("memory_store", {"content": "The staging database runs PostgreSQL 15.", "type": "fact"}, "Already remembered as [id:2]"),
    ("memory_search", {"query": "staging database", "tags": ["infra"], "limit": 5}, "PostgreSQL 15"),
    ("memory_query", {"query": "tea morning"}, "tea in the morning"),
    ("memory_get", {"id": 1}, "tea in the morning"),
    ("memory_update", {"id": 1, "content": "The user drinks green tea in the morning."}, "green tea"),
    ("memory_get", {"id": 1}, "before"),
    ("memory_reinforce", {"id": 1}, "score 3"),
    ("memory_demote", {"id": "2"}, "score -1"),
    ("memory_feedback", {"id": 1, "helpful": True}, "score 3"),
    ("memory_feedback", {"id": "2", "helpful": False}, "score -1"),
    ("memory_store", {"content": "The staging database runs PostgreSQL 17.", "type": "correction", "supersedes": 2}, "supersedes"),
    ("memory_search", {"query": "PostgreSQL", "include_superseded": True}, "superseded by"),
    ("memory_brief", {"include_provenance": True}, "PostgreSQL 17"),
    ("memory_delete", {"id": 1}, "Deleted [id:1]"),
    ("memory_write", {"content": "Moved staging to PostgreSQL 17.", "category": "milestone", "importance": 0.8}, "Written to memory/"),
    ("memory_write", {"path": "MEMORY.md", "content": "- Staging runs PostgreSQL 17."}, "proposal 1 waits"),
    ("memory_get", {"path": "MEMORY.md"}, ""),
    ("fact_upsert", {"entity": "Heidi Boyd", "key": "birthday", "value": "7 July 1956", "category": "family"}, "birthday = 7 July 1956"),
    ("fact_upsert", {"entity": "Heidi Boyd", "key": "birthday", "value": "8 July 1956"}, "was 7 July 1956"),
    ("graph_search", {"query": "when is Heidi Boyd's birthday?", "limit": 3}, "8 July 1956"),
    ("graph_search", {"query": "Heidi Boyd's shoe size"}, "but nothing about"),
    ("memory_store", {"content": "The staging database listens on port 5433.", "type": "fact"}, "[id:4]"),
    ("memory_store", {"content": "The staging database listens on port 5434.", "type": "fact"}, "[id:5]"),
    ("memory_conflicts", {}, "5433"),
]

# Arguments of memory_store that are wrong, and the field that the answer has to name.
WRONG = [
    ({"type": "fact"}, "content"),
    ({"content": 7, "type": "fact"}, "content"),
    ({"content": "x", "type": "opinion"}, "type"),
    ({"content": "x", "type": "fact", "tagz": ["a"]}, "tagz"),
]


@contextmanager
def check(name):
    """Counts what stands under it as one check: `scripts/clients` adds up the lines. A failed one does not end the run."""
    try:
        yield
        print("ok", name, flush=True)
    except Exception as problem:
        print("FAILED", name, "-", repr(problem).replace("\n", " "), flush=True)


def calls_for(offered):
    """Returns the calls of the tools on offer, and fails for a tool that the story leaves out."""
    untold = set(offered) - {tool for tool, _, _ in CALLS}
    assert not untold, f"no call is written for {sorted(untold)}"
    return [call for call in CALLS if call[0] in offered]
