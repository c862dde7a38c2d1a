"""Anthropic's own package with its memory tool over ours, beside the tool that the package has for a folder: the same commands must
be answered with the same words."""

import json
import os
import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from anthropic import Anthropic
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool
from anthropic_memory import NacreMemory
from story import check

NACRE = sys.argv[1]

# In this order, each on what the ones before it left.
COMMANDS = [
    {"command": "create", "path": "/memories/notes.md", "file_text": "one\ntwo\nthree\nfour\nfive\nsix\n"},
    {"command": "create", "path": "/memories/notes.md", "file_text": "again"},
    {"command": "create", "path": "/memories/crlf.txt", "file_text": "a\r\nb\r\n"},
    {"command": "create", "path": "/memories/empty.txt", "file_text": ""},
    {"command": "create", "path": "/memories/deep/er/x.json", "file_text": "{}"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "view", "path": "/memories/notes.md", "view_range": [2, 4]},
    {"command": "view", "path": "/memories/notes.md", "view_range": [5, -1]},
    {"command": "view", "path": "/memories/notes.md", "view_range": [0, 2]},
    {"command": "view", "path": "/memories/notes.md", "view_range": [6, 99]},
    {"command": "view", "path": "/memories/crlf.txt"},
    {"command": "view", "path": "/memories/empty.txt"},
    {"command": "view", "path": "/memories/none.md"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "three\nfour", "new_str": "3\n3b\n4"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "one", "new_str": "1"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "six\n", "new_str": ""},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "absent", "new_str": "x"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "3", "new_str": "x"},
    {"command": "str_replace", "path": "/memories/none.md", "old_str": "a", "new_str": "b"},
    {"command": "str_replace", "path": "/memories/deep", "old_str": "a", "new_str": "b"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 0, "insert_text": "zero\n\n"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 3, "insert_text": "middle"},
    {"command": "insert", "path": "/memories/empty.txt", "insert_line": 0, "insert_text": "first"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 70, "insert_text": "x"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": -1, "insert_text": "x"},
    {"command": "insert", "path": "/memories/none.md", "insert_line": 0, "insert_text": "x"},
    {"command": "insert", "path": "/memories/deep", "insert_line": 0, "insert_text": "x"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "view", "path": "/memories/empty.txt"},
    {"command": "rename", "old_path": "/memories/notes.md", "new_path": "/memories/crlf.txt"},
    {"command": "rename", "old_path": "/memories/none.md", "new_path": "/memories/new.md"},
    {"command": "rename", "old_path": "/memories/notes.md", "new_path": "/memories/moved/notes.md"},
    {"command": "rename", "old_path": "/memories/deep", "new_path": "/memories/deeper"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
    {"command": "view", "path": "/memories/moved/notes.md"},
    {"command": "view", "path": "/memories/deeper/er/x.json"},
    {"command": "view", "path": "/etc/passwd"},
    {"command": "view", "path": "/memories/../../etc/passwd"},
    {"command": "delete", "path": "/memories/../x"},
    {"command": "delete", "path": "/memories/none.md"},
    {"command": "delete", "path": "/memories"},
    {"command": "delete", "path": "/memories/deeper"},
    {"command": "delete", "path": "/memories/crlf.txt"},
    {"command": "view", "path": "/memories/deeper"},
]


def told(tool, command):
    """What the tool says, and whether that is an error."""
    try:
        return tool.call(command), False
    except ToolError as problem:
        return str(problem), True


def listing(text):
    """A listing without the sizes of folders, which depend on the file system."""
    head, *rows = text.split("\n")
    rows = [row.split("\t") for row in rows]
    return [head] + [path if path.endswith("/") or place == 0 else (size, path) for place, (size, path) in enumerate(rows)]


def check_same():
    ours, theirs = NacreMemory(), BetaLocalFilesystemMemoryTool(tempfile.mkdtemp())
    for command in COMMANDS:
        with check(f"memory tool: {json.dumps(command)}"):
            one, other = told(ours, command), told(theirs, command)
            assert one == other, f"{one} is not {other}"
        if command["command"] in ["create", "rename"]:
            with check(f"memory tool: what is there then ({command['command']} {command.get('path', command.get('old_path'))})"):
                view = {"command": "view", "path": "/memories"}
                one, other = listing(ours.call(view)), listing(theirs.call(view))
                assert one == other, f"{one} is not {other}"


class Scripted(BaseHTTPRequestHandler):
    """A model that views its memory, writes a file, and says what it was told."""

    heard = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Scripted.heard.append(body)
        turn = len(Scripted.heard) - 1
        inputs = [{"command": "view", "path": "/memories"}, {"command": "create", "path": "/memories/tea.md", "file_text": "No milk."}]
        if turn < len(inputs):
            content = [{"type": "tool_use", "id": f"toolu_{turn}", "name": "memory", "input": inputs[turn]}]
        else:
            content = [{"type": "text", "text": "Done."}]
        answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content,
                  "stop_reason": "tool_use" if turn < len(inputs) else "end_turn", "stop_sequence": None,
                  "usage": {"input_tokens": 1, "output_tokens": 1}}
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def check_runner():
    """The package's own loop, with a scripted model behind it."""
    server = HTTPServer(("127.0.0.1", 0), Scripted)
    Thread(target=server.serve_forever, daemon=True).start()
    with check("memory tool: the package's own loop of tools"):
        client = Anthropic(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}", max_retries=0)
        runner = client.beta.messages.tool_runner(
            model="scripted", max_tokens=100, tools=[NacreMemory()], messages=[{"role": "user", "content": "Tea without milk"}]
        )
        assert runner.until_done().content[0].text == "Done."
        assert Scripted.heard[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
        heard = json.dumps(Scripted.heard)
        assert len(Scripted.heard) == 3 and "Here're the files" in heard and "File created successfully at: /memories/tea.md" in heard, heard
    server.shutdown()


def check_lines():
    """The command, with lines in and lines out."""
    with check("nacre memory-tool: lines of JSON"), tempfile.TemporaryDirectory() as home:
        lines = [
            {"command": "create", "path": "/memories/a.md", "file_text": "x"},
            {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {"command": "view", "path": "/memories/a.md"}},
            {"command": "fly"},
            "no object",
        ]
        given = "\n".join(json.dumps(line) for line in lines) + "\nnot json\n"
        done = subprocess.run([NACRE, "--home", home, "memory-tool"], input=given, capture_output=True, text=True, timeout=60, env=os.environ)
        told = [json.loads(line) for line in done.stdout.splitlines()]
        assert told[0] == {"content": "File created successfully at: /memories/a.md", "is_error": False}, done
        assert told[1]["tool_use_id"] == "toolu_1" and told[1]["type"] == "tool_result" and told[1]["content"].endswith("     1\tx"), told
        assert [line["is_error"] for line in told] == [False, False, True, True, True], told


check_same()
check_runner()
check_lines()
