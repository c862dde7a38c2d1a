"""The official Python MCP client with the tools of the official memory server, over `nacre mcp --tools memory-server`."""

import asyncio
import json
import sys
import tempfile

from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from story import check

NACRE = sys.argv[1]
TOOLS = ["create_entities", "create_relations", "add_observations", "delete_entities", "delete_observations", "delete_relations",
         "read_graph", "search_nodes", "open_nodes"]


def node(name, kind, *observations):
    return {"name": name, "entityType": kind, "observations": list(observations)}


def edge(start, end, kind):
    return {"from": start, "to": end, "relationType": kind}


ALICE, BOB, ACME = node("Alice", "person", "works at Acme"), node("Bob", "person", "likes tea"), node("Acme", "company")
KNOWS, WORKS = edge("Alice", "Bob", "knows"), edge("Alice", "Acme", "works_at")
GONE = "deleted successfully"

# In this order: the tool, its arguments, what it must answer.
CALLS = [
    ("read_graph", {}, {"entities": [], "relations": []}),
    ("create_entities", {"entities": [ALICE, BOB]}, {"entities": [ALICE, BOB]}),
    ("create_entities", {"entities": [ALICE, ACME]}, {"entities": [ACME]}),
    ("create_relations", {"relations": [KNOWS, WORKS]}, {"relations": [KNOWS, WORKS]}),
    ("create_relations", {"relations": [KNOWS]}, {"relations": []}),
    ("add_observations", {"observations": [{"entityName": "Bob", "contents": ["likes tea", "has a dog"]}]},
     {"results": [{"entityName": "Bob", "addedObservations": ["has a dog"]}]}),
    ("search_nodes", {"query": "DOG"}, {"entities": [node("Bob", "person", "likes tea", "has a dog")], "relations": [KNOWS]}),
    ("search_nodes", {"query": "company"}, {"entities": [ACME], "relations": [WORKS]}),
    ("search_nodes", {"query": "nothing of this"}, {"entities": [], "relations": []}),
    ("open_nodes", {"names": ["Alice", "Nobody"]}, {"entities": [ALICE], "relations": [KNOWS, WORKS]}),
    ("delete_observations", {"deletions": [{"entityName": "Bob", "observations": ["has a dog", "x"]}, {"entityName": "Nobody", "observations": []}]},
     {"success": True, "message": f"Observations {GONE}"}),
    ("delete_relations", {"relations": [KNOWS, edge("X", "Y", "z")]}, {"success": True, "message": f"Relations {GONE}"}),
    ("delete_entities", {"entityNames": ["Acme", "Nobody"]}, {"success": True, "message": f"Entities {GONE}"}),
    ("read_graph", {}, {"entities": [ALICE, BOB], "relations": []}),
]


async def run(mode):
    with tempfile.TemporaryDirectory() as home:
        server = StdioServerParameters(command=NACRE, args=["--home", home, "mcp", "--tools", "memory-server"])
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            with check(f"memory server ({mode}): its nine tools and no other"):
                assert sorted(tools) == sorted(TOOLS), sorted(tools)
                for tool in tools.values():
                    for schema in [tool.input_schema, tool.output_schema]:
                        Draft202012Validator.check_schema(schema)
            for tool, arguments, expected in CALLS:
                with check(f"memory server ({mode}): {tool} {json.dumps(arguments)}"):
                    result = await client.call_tool(tool, arguments)
                    assert not result.is_error, result
                    assert result.structured_content == expected, result.structured_content
                    Draft202012Validator(tools[tool].output_schema).validate(result.structured_content)
                    text = result.content[0].text
                    # As text the same, or what is in it.
                    told = expected["message"] if "message" in expected else json.dumps(next(iter(expected.values())) if len(expected) == 1 else expected, indent=2)
                    assert text == told, text
            with check(f"memory server ({mode}): an entity that is not there"):
                result = await client.call_tool("add_observations", {"observations": [{"entityName": "Carol", "contents": ["x"]}]})
                assert result.is_error and result.content[0].text == "Entity with name Carol not found", result


asyncio.run(run("auto"))
asyncio.run(run("legacy"))
