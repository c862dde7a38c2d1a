"""A memory over HTTP, with nothing but Python's own library.

    nacre serve &
    NACRE_TOKEN=$(nacre token add example --private) python3 examples/rest.py
"""

import json
import os
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ.get("NACRE_URL", "http://127.0.0.1:7717")
TOKEN = os.environ["NACRE_TOKEN"]


def ask(method, path, body=None, **query):
    """Calls a path of /v1/openapi.json. A refusal says what to do about it."""
    url = f"{URL}{path}?{urllib.parse.urlencode(query)}"
    # The session is the conversation: budgets are counted by it.
    headers = {"Authorization": f"Bearer {TOKEN}", "Nacre-Session": "example", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        return json.load(refusal)


stored = ask("POST", "/v1/entries", {"content": "Our staging server is called heron", "tags": ["servers"]})
print("stored", stored["id"])

found = ask("GET", "/v1/search", query="what is the server called?")
for hit in found["hits"]:
    print("found", hit["text"], hit["why"])

moved = ask("POST", "/v1/entries", {"content": "Our staging server is called kestrel since the move", "supersedes": stored["id"]})
print("now", [hit["text"] for hit in ask("GET", "/v1/search", query="staging server")["hits"]])

refused = ask("POST", "/v1/entries", {"contents": "a typing mistake"})
print("refused", refused["error"]["message"])

ask("DELETE", f"/v1/entries/{moved['id']}")
