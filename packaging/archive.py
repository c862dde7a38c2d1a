"""The archive: the program with its manual page, completions, plugins for agents and licences, in one folder."""

import subprocess

from bundle import Entry, tar_gz

SHELLS = ("bash", "zsh", "fish", "elvish", "powershell")


def write(source, out):
    folder = f"{source.name}-{source.version}-{source.program.target}"
    texts = ["README.md", "CHANGELOG.md", *source.LICENSES]
    listed = subprocess.check_output(["git", "-C", source.root, "ls-files", "plugins"], text=True).split()
    entries = [
        Entry(f"{folder}/{source.program.file_name}", source.program.path.read_bytes(), 0o755),
        Entry(f"{folder}/man/nacre.1", source.manual()),
        *(Entry(f"{folder}/completions/nacre.{shell}", source.completions(shell)) for shell in SHELLS),
        *(Entry(f"{folder}/{text}", source.bytes(text)) for text in texts),
        *(Entry(f"{folder}/{plugin}", source.bytes(plugin)) for plugin in listed),
    ]
    (out / f"{folder}.tar.gz").write_bytes(tar_gz(entries, source))
