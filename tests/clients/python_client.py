"""The official Python client against `nacre mcp`: every protocol version, every profile, every tool on offer."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from jsonschema import Draft202012Validator
from mcp import Client, MCPError, StdioServerParameters
from story import WRONG, calls_for, check

NACRE = sys.argv[1]
MODERN = "2026-07-28"
VERSIONS = [MODERN, "2025-11-25", "2025-06-18"]
PROFILES = ["balanced", "carapace", "koshi"]
# What an agent pays for in every conversation.
MOST_BYTES = 12_000
INVALID_PARAMS = -32602


def connect(version, profile, home):
    """Starts a server of its own; what it writes is also kept in the file `wire`, for the client gives only what it has read."""
    nacre = [NACRE, "--home", str(home), "--profile", profile, "mcp"]
    tee = ["-c", 'wire=$1; shift; "$@" | tee -a "$wire"', "sh", str(home / "wire"), *nacre]
    server = StdioServerParameters(command="sh", args=tee)
    return Client(server, mode="auto" if version == MODERN else "legacy", read_timeout_seconds=30)


def text_of(result):
    return "\n".join(block.text for block in result.content)


def check_described(tool):
    assert tool.description and tool.annotations and tool.output_schema, "something is missing"
    hints = tool.annotations.model_dump()
    # The protocol has defaults: not read-only, destructive, not idempotent. Only a tool that reads needs no second hint.
    assert hints["open_world_hint"] is False, "open_world_hint is not given"
    assert hints["read_only_hint"] or hints["destructive_hint"] is not None, "whether it destroys is not given"
    for schema in [tool.input_schema, tool.output_schema]:
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"


def check_wire(home):
    """Nothing but JSON-RPC may be on standard output, and the list of tools has to be small."""
    lines = (home / "wire").read_bytes().splitlines()
    answers = [json.loads(line) for line in lines]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    sizes = [len(line) for line, answer in zip(lines, answers) if "tools" in answer.get("result", {})]
    assert sizes and max(sizes) < MOST_BYTES, f"tools/list has {sizes} bytes, {MOST_BYTES} is the limit"


async def run_story(client, name, tools):
    for tool, arguments, expected in calls_for(tools):
        with check(f"{name}: {tool} {json.dumps(arguments)}"):
            result = await client.call_tool(tool, arguments)
            text = text_of(result)
            assert not result.is_error and expected in text, text
            Draft202012Validator(tools[tool].output_schema).validate(result.structured_content)


async def check_errors(client, name):
    with check(f"{name}: an unknown tool is a protocol error"):
        try:
            await client.call_tool("memory_dream", {})
        except MCPError as error:
            assert error.code == INVALID_PARAMS and "memory_dream" in error.message, error
        else:
            raise AssertionError("it was answered")
    for arguments, field in WRONG:
        with check(f"{name}: wrong arguments {json.dumps(arguments)} name `{field}`"):
            result = await client.call_tool("memory_store", arguments)
            assert result.is_error and f"`{field}`" in text_of(result), text_of(result)


async def check_brief(client, name, expected):
    """`expected` is None for a profile that gives no brief: then the server must not promise any."""
    if expected is None:
        with check(f"{name}: no brief is promised"):
            promised = client.server_capabilities
            assert promised.resources is None and promised.prompts is None
        return
    with check(f"{name}: resource memory://brief"):
        uris = [str(one.uri) for one in (await client.list_resources()).resources]
        assert "memory://brief" in uris, uris
        assert expected in (await client.read_resource("memory://brief")).contents[0].text
    with check(f"{name}: every resource that is listed can be read"):
        for uri in uris:
            assert (await client.read_resource(uri)).contents[0].text, uri
    with check(f"{name}: prompt brief"):
        assert "brief" in [one.name for one in (await client.list_prompts()).prompts]
        assert expected in (await client.get_prompt("brief")).messages[0].content.text


async def visit(version, profile, home):
    name = f"python {version} {profile}"
    with check(f"{name}: the conversation"):
        async with connect(version, profile, home) as client:
            assert client.protocol_version == version, client.protocol_version
            assert client.server_info.name == "nacre" and client.instructions
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            for tool in tools.values():
                with check(f"{name}: {tool.name} is described"):
                    check_described(tool)
            await run_story(client, name, tools)
            await check_errors(client, name)
            await check_brief(client, name, "PostgreSQL 17" if profile != "koshi" else None)
    with check(f"{name}: the wire"):
        check_wire(home)
    with check(f"{name}: a second process finds what the first one stored"):
        async with connect(version, profile, home) as client:
            search = "memory_search" if "memory_search" in tools else "memory_query"
            text = text_of(await client.call_tool(search, {"query": "staging database"}))
            assert "PostgreSQL 17" in text and "PostgreSQL 15" not in text, text


for version in VERSIONS:
    for profile in PROFILES:
        # The client always asks for the newest version of the older era. This is the one place where it says which.
        asked = patch("mcp.client.session.LATEST_HANDSHAKE_VERSION", version)
        with tempfile.TemporaryDirectory() as home, asked:
            asyncio.run(visit(version, profile, Path(home)))
