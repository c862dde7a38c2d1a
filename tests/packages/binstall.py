"""Fills in the address that `cargo binstall` reads from Cargo.toml, and checks that a release has that file, with the program in it.

    python3 binstall.py FOLDER TARGET"""

import re
import sys
import tarfile
from pathlib import Path

folder, target = Path(sys.argv[1]), sys.argv[2]
version = re.search(r'^version = "(.*)"', Path("Cargo.toml").read_text(), re.MULTILINE)[1]
section = Path("crates/nacre-cli/Cargo.toml").read_text().split("[package.metadata.binstall]")[1]
said = dict(re.findall(r'^([a-z-]+) = "(.*)"$', section.split("\n[")[0], re.MULTILINE))
values = {"repo": "", "version": version, "target": target, "bin": "nacre", "binary-ext": ""}


def filled(template):
    return re.sub(r"\{ ([a-z-]+) \}", lambda found: values[found[1]], template)


assert said["pkg-fmt"] == "tgz", said
archive = folder / filled(said["pkg-url"]).rsplit("/", 1)[1]
with tarfile.open(archive) as files:
    assert files.getmember(filled(said["bin-dir"])).mode == 0o755
