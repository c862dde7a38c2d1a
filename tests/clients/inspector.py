"""The MCP Inspector's command line against `nacre mcp`: the strict check of the schemas, then every tool, in both eras."""

import json
import subprocess
import sys
import tempfile

from story import WRONG, calls_for, check

NACRE, INSPECTOR = sys.argv[1:]
PROFILES = ["balanced", "carapace", "koshi"]
# Its exit status for a tool that answered with an error.
TOOL_ERROR = 5


def inspect(era, profile, home, *question, status=0):
    nacre = [NACRE, "--home", home, "--profile", profile, "mcp"]
    command = [INSPECTOR, "--cli", *nacre, "--protocol-era", era, "--format", "json", *question]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, f"exit {done.returncode}: {done.stdout[-500:]} {done.stderr[-2000:]}"
    answer = json.loads(done.stdout)
    # Its exit status tells of errors in a schema (6), not of warnings: those are clients that may drop a constraint.
    assert "schemaFindings" not in answer, answer["schemaFindings"]
    return answer["result"]


def call(tool, arguments):
    return ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]


def visit(era, profile, home):
    name = f"inspector {era} {profile}"
    offered = []
    with check(f"{name}: tools/list, strict"):
        listed = inspect(era, profile, home, "--method", "tools/list", "--strict")
        offered = [tool["name"] for tool in listed["tools"]]
        assert calls_for(offered)
    for tool, arguments, expected in calls_for(offered):
        with check(f"{name}: {tool} {json.dumps(arguments)}"):
            answer = inspect(era, profile, home, *call(tool, arguments))
            assert expected in answer["content"][0]["text"] and answer["structuredContent"], answer
    arguments, field = WRONG[0]
    with check(f"{name}: wrong arguments name `{field}`"):
        answer = inspect(era, profile, home, *call("memory_store", arguments), status=TOOL_ERROR)
        assert f"`{field}`" in answer["content"][0]["text"], answer


for era in ["modern", "legacy"]:
    for profile in PROFILES:
        with tempfile.TemporaryDirectory() as home:
            visit(era, profile, home)
