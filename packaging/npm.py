"""npm packages: one for each platform with the program in it, and `nacre`, which depends on all of them as optional packages.

npm installs only the one whose `os`, `cpu` and `libc` fit. Nothing is downloaded or run during the install."""

import json
import tarfile

from bundle import Entry, tar_gz

SHIM = "packaging/nacre.js"


def about(source, name, **more):
    return {"name": name, "version": source.version, "description": source.description, "license": source.license, **more}


def package(source, description, entries):
    described = Entry("package/package.json", (json.dumps(description, indent=2) + "\n").encode())
    licenses = [Entry(f"package/{file}", source.bytes(file)) for file in source.LICENSES]
    return tar_gz([described, *licenses, *entries], source)


def write_platform(source, out):
    program = source.program
    name = f"{source.name}-{program.system}-{program.npm}"
    description = about(source, name, os=[program.system], cpu=[program.npm], preferUnplugged=True)
    if program.system == "linux" and not program.is_static:
        description["libc"] = ["glibc"]
    entries = [Entry(f"package/bin/{program.file_name}", program.path.read_bytes(), 0o755)]
    (out / f"{name}-{source.version}.tgz").write_bytes(package(source, description, entries))


def write_main(source, out):
    """Writes the package `nacre` for the platforms whose packages are in the folder."""
    platforms = [describe(file) for file in sorted(out.glob(f"{source.name}-*-{source.version}.tgz"))]
    optional = {platform["name"]: platform["version"] for platform in platforms}
    bin_ = {"nacre": "bin/nacre.js"}
    description = about(source, source.name, bin=bin_, engines={"node": ">=18"}, optionalDependencies=optional)
    entries = [
        Entry("package/bin/nacre.js", source.bytes(SHIM), 0o755),
        Entry("package/README.md", source.bytes("README.md")),
    ]
    (out / f"{source.name}-{source.version}.tgz").write_bytes(package(source, description, entries))


def describe(file):
    with tarfile.open(file) as archive:
        return json.load(archive.extractfile("package/package.json"))
