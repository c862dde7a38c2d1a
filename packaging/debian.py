"""A Debian package, made by `dpkg-deb`. It runs no scripts when it is installed or removed."""

import gzip
import os
import subprocess
import tempfile
from pathlib import Path

from program import LIBRARIES


def write(source, out):
    program = source.program
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        files = {
            "usr/bin/nacre": (program.path.read_bytes(), 0o755),
            "usr/share/man/man1/nacre.1.gz": (gzip.compress(source.manual(), mtime=0), 0o644),
            "usr/share/bash-completion/completions/nacre": (source.completions("bash"), 0o644),
            "usr/share/zsh/vendor-completions/_nacre": (source.completions("zsh"), 0o644),
            "usr/share/fish/vendor_completions.d/nacre.fish": (source.completions("fish"), 0o644),
            "usr/share/doc/nacre/changelog.gz": (gzip.compress(source.bytes("CHANGELOG.md"), mtime=0), 0o644),
            "usr/share/doc/nacre/copyright": (copyright_of(source), 0o644),
        }
        size = sum(len(data) for data, _ in files.values())
        files["DEBIAN/control"] = (control(source, size), 0o644)
        for name, (data, mode) in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            file.chmod(mode)
        for inner in [root, *root.rglob("*")]:
            if inner.is_dir():
                inner.chmod(0o755)
        package = out / f"{source.name}_{source.version}_{program.debian}.deb"
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", f"-z{source.level}", "--build", root, package]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(source.epoch)}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


def control(source, size):
    needs = depends(source.program)
    return f"""\
Package: {source.name}
Version: {source.version}
Architecture: {source.program.debian}
Maintainer: {source.maintainer}
Installed-Size: {-(-size // 1024)}
{f"Depends: {needs}" + chr(10) if needs else ""}Section: utils
Priority: optional
Description: {source.description.split(":")[0]}
 One local program that agents share over MCP, hooks and HTTP. It needs no
 language model, no API key and no download.
""".encode()


def depends(program):
    """Returns the packages of the libraries that it needs, with the oldest versions that have its symbols."""
    oldest = {"libc6": dict(program.versions).get("GLIBC"), "libgcc-s1": dict(program.versions).get("GCC")}
    packages = sorted({LIBRARIES[library] for library in program.libraries})
    return ", ".join(f"{package} (>= {oldest[package]})" if oldest[package] else package for package in packages)


def copyright_of(source):
    texts = "\n\n".join(source.text(file) for file in source.LICENSES)
    return f"License: {source.license}\n\n{texts}".encode()
