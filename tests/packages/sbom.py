"""Checks a bill of materials against Cargo.lock: python3 sbom.py FILE"""

import json
import re
import sys
from pathlib import Path

bom = json.loads(Path(sys.argv[1]).read_text())
assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.5")
references = {each["bom-ref"] for each in bom["components"]} | {bom["metadata"]["component"]["bom-ref"]}
assert len(references) == len(bom["components"]) + 1, "a component is listed twice"
assert {each["ref"] for each in bom["dependencies"]} == references
assert {needed for each in bom["dependencies"] for needed in each["dependsOn"]} <= references
locked = set(re.findall(r'name = "(.*)"\nversion = "(.*)"', Path("Cargo.lock").read_text()))
crates = [each for each in bom["components"] if each["purl"].startswith("pkg:cargo/")]
for crate in crates:
    assert (crate["name"], crate["version"]) in locked and crate["licenses"], crate
    assert crate.get("hashes") or crate["name"].startswith("nacre"), crate
names = {each["name"] for each in bom["components"]}
assert {"nacre", "rusqlite", "libsqlite3-sys", "sqlite"} <= names, names
# Crates that only tests use are not in the program.
assert not {"proptest", "nacre-bench"} & names
