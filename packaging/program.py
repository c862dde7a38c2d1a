"""Reads from a program's own header which platform it is for and which libraries it needs."""

import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

# The names of a processor: in Rust targets, in npm, in Debian and in images.
PROCESSORS = {"x86_64": ("x64", "amd64"), "aarch64": ("arm64", "arm64")}
# Libraries that every glibc system has, so that a wheel may need them, and the Debian package of each.
LIBRARIES = {
    "libc.so.6": "libc6",
    "libm.so.6": "libc6",
    "libpthread.so.0": "libc6",
    "libdl.so.2": "libc6",
    "librt.so.1": "libc6",
    "ld-linux-x86-64.so.2": "libc6",
    "ld-linux-aarch64.so.1": "libc6",
    "libgcc_s.so.1": "libgcc-s1",
}


@dataclass(frozen=True)
class Program:
    path: Path
    system: str  # linux, darwin or win32, as npm calls them
    processor: str
    libraries: tuple = ()
    # The newest symbol versions that it needs, such as {"GLIBC": "2.34", "GCC": "4.2.0"}.
    versions: tuple = ()

    @property
    def file_name(self):
        return "nacre.exe" if self.system == "win32" else "nacre"

    @property
    def is_static(self):
        return not self.libraries

    @property
    def target(self):
        """The Rust target that makes such a program."""
        system = {"darwin": "apple-darwin", "win32": "pc-windows-msvc"}.get(self.system)
        return f"{self.processor}-{system or 'unknown-linux-' + ('musl' if self.is_static else 'gnu')}"

    @property
    def npm(self):
        return PROCESSORS[self.processor][0]

    @property
    def debian(self):
        return PROCESSORS[self.processor][1]

    @property
    def wheel_tags(self):
        """The platforms of PEP 425, 600 and 656 on which it runs."""
        x86 = self.processor == "x86_64"
        if self.system == "darwin":
            # The oldest macOS that Rust's standard library supports.
            return ["macosx_10_12_x86_64" if x86 else "macosx_11_0_arm64"]
        if self.system == "win32":
            return ["win_amd64" if x86 else "win_arm64"]
        if self.is_static:
            return [f"{tag}_{self.processor}" for tag in ("manylinux2014", "manylinux_2_17", "musllinux_1_1")]
        glibc = dict(self.versions)["GLIBC"].split(".")
        return [f"manylinux_{glibc[0]}_{max(int(glibc[1]), 17)}_{self.processor}"]


def read(path):
    """Returns what the header of a program says. Fails for platforms that there are no packages for."""
    head = path.read_bytes()[:4096]
    if head[:4] == b"\x7fELF":
        return read_elf(path)
    if head[:4] == b"\xcf\xfa\xed\xfe":
        kinds = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
        return Program(path, "darwin", kinds[struct.unpack_from("<I", head, 4)[0]])
    if head[:2] == b"MZ":
        kinds = {0x8664: "x86_64", 0xAA64: "aarch64"}
        return Program(path, "win32", kinds[struct.unpack_from("<H", head, struct.unpack_from("<I", head, 60)[0] + 4)[0]])
    raise SystemExit(f"error: {path} is not a program for Linux, macOS or Windows")


def read_elf(path):
    command = ["readelf", "--wide", "--file-header", "--dynamic", "--version-info", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}).stdout
    machine = re.search(r"Machine: +(.*)", text)[1]
    processor = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}[machine]
    libraries = tuple(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
    unknown = [library for library in libraries if library not in LIBRARIES]
    if unknown:
        raise SystemExit(f"error: {path} needs {', '.join(unknown)}, which not every Linux system has")
    versions = {}
    for name, version in re.findall(r"Name: ([A-Z]+)_([0-9.]+)", text):
        versions[name] = max(versions.get(name, "0"), version, key=lambda text: [int(part) for part in text.split(".")])
    return Program(path, "linux", processor, libraries, tuple(sorted(versions.items())))
