"""Serves a folder of packages on loopback: its files as they are, and the npm packages as a registry. Prints its URL.

    python3 server.py FOLDER"""

import base64
import hashlib
import http.server
import json
import sys
import tarfile
from functools import cache
from pathlib import Path

folder = Path(sys.argv[1])


@cache
def packages():
    """Returns the descriptions of the npm packages by name, as a registry has them. They are read at the first request."""
    found = {}
    for file in folder.glob("*.tgz"):
        with tarfile.open(file) as archive:
            about = json.load(archive.extractfile("package/package.json"))
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
        about["dist"] = {"tarball": f"{url}/{file.name}", "integrity": integrity}
        latest = {"latest": about["version"]}
        found[about["name"]] = {"name": about["name"], "dist-tags": latest, "versions": {about["version"]: about}}
    return found


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *given):
        super().__init__(*given, directory=folder)

    def do_GET(self):
        about = packages().get(self.path.strip("/"))
        if about is None:
            return super().do_GET()
        body = json.dumps(about).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
url = f"http://127.0.0.1:{server.server_port}"
print(url, flush=True)
server.serve_forever()
