"""Makes the packages of a release. `scripts/packages` calls it, and tries what it makes.

    python3 packaging/make.py platform PROGRAM OUT [--runner PROGRAM] [--only KIND...] [--fast]    packages for the platform of one program
    python3 packaging/make.py release OUT --url URL [--key KEY]                                  the files that a release has once

The same sources and the same program make the same bytes: times are that of the last commit (or SOURCE_DATE_EPOCH)."""

import argparse
import os
import re
import subprocess
from functools import cache
from pathlib import Path

import archive
import debian
import image
import npm
import program
import release
import sbom
import wheel


KINDS = {
    "archive": archive.write,
    "wheel": wheel.write,
    "npm": npm.write_platform,
    "sbom": sbom.write,
    "debian": debian.write,
    "image": image.write,
}
LINUX_ONLY = {"debian", "image"}


class Source:
    """The repository: the texts and names that all packages share."""

    LICENSES = ("LICENSE-APACHE", "LICENSE-MIT")
    root = Path(__file__).resolve().parent.parent

    def __init__(self, built=None, runner=None, level=6):
        self.level = level
        self.program = built and program.read(built)
        self.runner = runner or built
        manifest = self.text("Cargo.toml")
        self.version, self.description, self.license = (
            re.search(rf'^{key} = "(.*)"', manifest, re.MULTILINE)[1] for key in ("version", "description", "license")
        )
        self.name = "nacre"
        self.maintainer = os.environ.get("NACRE_MAINTAINER", "The Nacre contributors <nacre@localhost>")
        commit = ["git", "-C", self.root, "log", "-1", "--format=%ct"]
        self.epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or subprocess.check_output(commit))

    def bytes(self, file):
        return (self.root / file).read_bytes()

    def text(self, file):
        return self.bytes(file).decode()

    def manual(self):
        return self.printed("man")

    def completions(self, shell):
        return self.printed("completions", shell)

    @cache
    def printed(self, *arguments):
        return subprocess.run([self.runner, *arguments], check=True, capture_output=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    platform = commands.add_parser("platform")
    platform.add_argument("program", type=Path)
    platform.add_argument("out", type=Path)
    platform.add_argument("--runner", type=Path, help="the same version for this machine, if PROGRAM is for another: it prints the manual")
    platform.add_argument("--only", nargs="+", choices=KINDS, default=KINDS, metavar="KIND", help=", ".join(KINDS))
    platform.add_argument("--fast", action="store_true", help="compress little, to try the packages of a debug build")
    once = commands.add_parser("release")
    once.add_argument("out", type=Path)
    once.add_argument("--url", required=True, help="the folder on the web that will hold these files")
    once.add_argument("--key", help="the releaser's private SSH key; without it nothing is signed and no installer is made")
    given = parser.parse_args()

    given.out.mkdir(parents=True, exist_ok=True)
    if given.command == "release":
        release.write(Source(), given.out, given.url.rstrip("/"), given.key)
        return
    source = Source(given.program.resolve(), given.runner and given.runner.resolve(), 1 if given.fast else 6)
    for kind in given.only:
        if source.program.system == "linux" or kind not in LINUX_ONLY:
            KINDS[kind](source, given.out)


main()
