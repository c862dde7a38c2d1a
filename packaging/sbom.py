"""The software bill of materials: every crate that is linked into the program, and SQLite, in CycloneDX 1.5."""

import json
import re
import subprocess
import time
import uuid
from pathlib import Path


def write(source, out):
    target = source.program.target
    found = json.loads(cargo(source, "metadata", "--format-version", "1", "--filter-platform", target))
    # `cargo metadata` has the features of the whole workspace; `cargo tree` has those of the program.
    shown = cargo(source, "tree", "--package", "nacre-cli", "--edges", "normal,no-proc-macro", "--target", target, "--prefix", "none")
    linked = {tuple(line.split()[:2]) for line in shown.splitlines()}
    packages = {each["id"]: each for each in found["packages"] if (each["name"], f"v{each['version']}") in linked}
    locked = re.findall(r'name = "(.*)"\nversion = "(.*)"\nsource = .*\nchecksum = "(.*)"', source.text("Cargo.lock"))
    checksums = {(name, version): checksum for name, version, checksum in locked}

    components = {id: component(package, checksums) for id, package in packages.items()}
    needs = {}
    for node in found["resolve"]["nodes"]:
        if node["id"] in packages:
            normal = [each["pkg"] for each in node["deps"] if any(kind["kind"] is None for kind in each["dep_kinds"])]
            needs[node["id"]] = sorted(components[id]["bom-ref"] for id in normal if id in packages)
    for id, package in packages.items():
        if package["name"] == "libsqlite3-sys":
            components["sqlite"] = sqlite(package)
            needs["sqlite"] = []
            needs[id].append(components["sqlite"]["bom-ref"])
    dependencies = [{"ref": components[id]["bom-ref"], "dependsOn": needed} for id, needed in needs.items()]
    program = components.pop(next(id for id, package in packages.items() if package["name"] == "nacre-cli"))

    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{source.name} {source.version} {target} {source.epoch}')}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(source.epoch)),
            "component": {**program, "type": "application", "name": source.name},
            "properties": [{"name": "target", "value": target}],
        },
        "components": sorted(components.values(), key=lambda each: each["bom-ref"]),
        "dependencies": sorted(dependencies, key=lambda each: each["ref"]),
    }
    name = f"{source.name}-{source.version}-{target}.cdx.json"
    (out / name).write_text(json.dumps(bom, indent=1) + "\n")


def cargo(source, command, *given):
    return subprocess.run(["cargo", command, "--offline", "--locked", *given], check=True, stdout=subprocess.PIPE, text=True, cwd=source.root).stdout


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums):
    described = {"type": "library", "bom-ref": reference(package), "name": package["name"], "version": package["version"], "purl": reference(package)}
    if package.get("license"):
        described["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return described


def sqlite(package):
    """SQLite is C code inside a crate, with a version of its own."""
    header = (Path(package["manifest_path"]).parent / "sqlite3/sqlite3.h").read_text()
    version = re.search(r'#define SQLITE_VERSION +"(.*)"', header)[1]
    purl = f"pkg:generic/sqlite@{version}"
    return {"type": "library", "bom-ref": purl, "name": "sqlite", "version": version, "purl": purl, "licenses": [{"license": {"name": "blessing"}}]}
