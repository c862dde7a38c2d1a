"""A model that is no model: it answers by a script, on loopback, as Anthropic Messages (Claude Code, OpenCode, OpenClaw), OpenAI
Responses (Codex) or Gemini do.

A conversation is known by a word in what the person wrote, such as `talk-tea`. Its script is a list of replies: a call of a
tool, or a text. Which one is due follows from how many results of tools the request holds, so that no state is kept here.
Every request of a conversation is kept for the checks, with all its text in one string.
"""

import html
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TALK = re.compile(r"talk-[a-z0-9-]+")
# What clients make of the names of our tools, as a server of theirs, in a plugin or as their own memory.
OURS = re.compile(r"(mcp_+)?(plugin_nacre_)?nacre_+|memory_(search|get)$")


class Request:
    """What a client sent: all text of the conversation, and the results of tools in it."""

    def __init__(self, messages, system=None):
        self.text = "\n".join(strings([system, messages]))
        self.results = list(results(messages))


class Model:
    def __init__(self, scripts):
        """`scripts`: the replies of each conversation, each `(tool, arguments)` or a text."""
        self.scripts = scripts
        self.requests = {name: [] for name in scripts}
        self.strays = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def reply(self, messages, tools, system=None):
        request = Request(messages, system)
        # The first word counts: a memory that was put into the conversation may hold the word of another.
        said = [text for text in user_texts(messages) if TALK.search(text)]
        name = TALK.search(said[0]).group() if said else None
        with self._lock:
            # Clients ask for titles and the like too, without our tools.
            if name not in self.scripts or not tools:
                self.strays.append(request.text[:200])
                return "ok"
            self.requests[name].append(request)
        script = self.scripts[name]
        return script[min(len(request.results), len(script) - 1)]


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)


def user_texts(messages):
    """What stands under the role of the person, without what our marks enclose."""
    for message in messages:
        if message.get("role") == "user":
            for text in strings(message.get("content")):
                yield re.sub(r'<memory source="nacre".*?</memory>', "", text, flags=re.DOTALL)


def results(messages):
    for message in messages:
        if message.get("type") == "function_call_output":
            yield "\n".join(strings(message.get("output")))
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                yield "\n".join(strings(block.get("content")))


def called(tool, tools):
    """The name under which a tool of our server is offered; behind a `=` stands the name itself."""
    return tool.removeprefix("=") if tool.startswith("=") else next(name for name in tools if re.search(f"nacre_+{tool}$", name))


def anthropic(body, model):
    """The events of an answer of the Messages API."""
    tools = [name for tool in body.get("tools", []) if OURS.match(name := str(tool.get("name")))]
    reply = model.reply(body.get("messages", []), tools, body.get("system"))
    if isinstance(reply, str):
        start, stop = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": reply}
    else:
        tool, arguments = reply
        start, stop = {"type": "tool_use", "id": f"toolu_{id(body)}", "name": called(tool, tools), "input": {}}, "tool_use"
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    message = {"id": f"msg_{id(body)}", "type": "message", "role": "assistant", "model": body.get("model"), "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def openai(body, model):
    """The events of an answer of the Responses API."""
    tools = [tool for tool in body.get("tools", []) if tool.get("name") == "mcp__nacre"]
    reply = model.reply(body.get("input", []), tools)
    if isinstance(reply, str):
        item = {"type": "message", "id": f"msg_{id(body)}", "role": "assistant", "status": "completed"}
        item["content"] = [{"type": "output_text", "text": reply, "annotations": []}]
    else:
        tool, arguments = reply
        item = {"type": "function_call", "id": f"fc_{id(body)}", "call_id": f"call_{id(body)}", "status": "completed"}
        item |= {"namespace": "mcp__nacre", "name": tool, "arguments": json.dumps(arguments)}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    yield {"type": "response.created", "response": {"id": "resp"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"id": "resp", "output": [item], "usage": usage}}


def gemini(body, model):
    """An answer of Gemini, which is whole in one event."""
    messages = []
    for content in body.get("contents", []):
        blocks = []
        for part in content.get("parts", []):
            if "functionResponse" in part:
                blocks.append({"type": "tool_result", "content": part["functionResponse"].get("response")})
            elif "text" in part:
                # What hooks say comes escaped.
                blocks.append({"type": "text", "text": html.unescape(part["text"])})
        messages.append({"role": content.get("role"), "content": blocks})
    offered = [tool for tools in body.get("tools", []) for tool in tools.get("functionDeclarations", [])]
    tools = [name for tool in offered if OURS.match(name := str(tool.get("name")))]
    reply = model.reply(messages, tools)
    if isinstance(reply, str):
        part = {"text": reply}
    else:
        part = {"functionCall": {"name": called(reply[0], tools), "args": reply[1]}}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


def handler(model):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            path = self.path.split("?")[0]
            if path.endswith("/messages"):
                self.stream(anthropic(body, model))
            elif path.endswith("/responses"):
                self.stream(openai(body, model))
            elif path.endswith(":streamGenerateContent"):
                self.send(f"data: {json.dumps(gemini(body, model))}\n\n", "text/event-stream")
            elif path.endswith(":generateContent"):
                self.send(json.dumps(gemini(body, model)), "application/json")
            elif path.endswith(":countTokens"):
                self.send(json.dumps({"totalTokens": 1}), "application/json")
            else:
                self.nothing()

        def do_GET(self):
            self.nothing()

        do_HEAD = do_GET

        def stream(self, events):
            self.send("".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events), "text/event-stream")

        def send(self, text, kind):
            body = text.encode()
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def nothing(self):
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()

    return Handler
