"""Writes files that begin like programs for macOS and Windows. They can't run: they show which package a platform gets.

    python3 foreign.py FOLDER"""

import struct
import sys
from pathlib import Path

folder = Path(sys.argv[1])
for name, processor in {"darwin-x64": 0x01000007, "darwin-arm64": 0x0100000C}.items():
    (folder / name).write_bytes(b"\xcf\xfa\xed\xfe" + struct.pack("<I", processor))
for name, processor in {"win32-x64": 0x8664, "win32-arm64": 0xAA64}.items():
    (folder / name).write_bytes(b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", processor))
