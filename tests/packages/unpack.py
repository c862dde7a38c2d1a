"""Unpacks an OCI image as a container engine does, and prints its command line: python3 unpack.py IMAGE ROOT

Every digest is checked."""

import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path

image = tarfile.open(sys.argv[1])
root = Path(sys.argv[2])


def blob(described):
    algorithm, digest = described["digest"].split(":")
    data = image.extractfile(f"blobs/{algorithm}/{digest}").read()
    assert hashlib.sha256(data).hexdigest() == digest and len(data) == described["size"], described
    return data


assert json.load(image.extractfile("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
(listed,) = json.load(image.extractfile("index.json"))["manifests"]
manifest = json.loads(blob(listed))
config = json.loads(blob(manifest["config"]))
for described, plain in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
    layer = tarfile.open(fileobj=io.BytesIO(blob(described)))
    layer.fileobj.seek(0)
    assert f"sha256:{hashlib.sha256(layer.fileobj.read()).hexdigest()}" == plain
    layer.fileobj.seek(0)
    layer.extractall(root)
(old,) = json.load(image.extractfile("manifest.json"))
assert {old["Config"], *old["Layers"]} <= set(image.getnames())
settings = config["config"]
print(settings["User"], settings["Env"][0], *settings["Entrypoint"])
