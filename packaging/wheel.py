"""A Python wheel with the program in it: `uvx nacre`, `pip install nacre`. A wheel is a zip file; it needs no build backend.

It has no manual page: `pip uninstall` would leave the folders of one behind."""

import base64
import hashlib

from bundle import Entry, zipped

KEYWORDS = "memory,agents,mcp,search"


def write(source, out):
    name = f"{source.name}-{source.version}"
    info = f"{name}.dist-info"
    tags = source.program.wheel_tags
    metadata = f"""\
Metadata-Version: 2.4
Name: {source.name}
Version: {source.version}
Summary: {source.description}
License-Expression: {source.license}
License-File: LICENSE-APACHE
License-File: LICENSE-MIT
Keywords: {KEYWORDS}
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{source.text("README.md")}"""
    kind = ["Wheel-Version: 1.0", "Generator: packaging/wheel.py", "Root-Is-Purelib: false"]
    kind += [f"Tag: py3-none-{tag}" for tag in tags]
    entries = [
        Entry(f"{name}.data/scripts/{source.program.file_name}", source.program.path.read_bytes(), 0o755),
        Entry(f"{info}/METADATA", metadata.encode()),
        Entry(f"{info}/WHEEL", "\n".join(kind + [""]).encode()),
        *(Entry(f"{info}/licenses/{file}", source.bytes(file)) for file in source.LICENSES),
    ]
    rows = [f"{entry.name},sha256={digest(entry.data)},{len(entry.data)}" for entry in entries]
    record = f"{info}/RECORD"
    entries.append(Entry(record, "\n".join(rows + [f"{record},,", ""]).encode()))
    (out / f"{name}-py3-none-{'.'.join(tags)}.whl").write_bytes(zipped(entries, source))


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
