"""An OCI image without Docker: a tar file with the program in one layer, set up as the last stage of the `Dockerfile` says.

`docker load`, `podman load` and `skopeo copy oci-archive:…` read it. A program that needs a C library brings the one of this machine."""

import hashlib
import json
import re
import subprocess
import time
from pathlib import Path

from bundle import Entry, compressed, tar


def write(source, out):
    program = source.program
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(source.epoch))
    platform = {"architecture": program.debian, "os": "linux"}
    plain = tar(layer(program), source.epoch)
    packed = compressed(plain, source.level)
    history = [{"created": created, "created_by": "packaging/image.py"}]
    root = {"type": "layers", "diff_ids": [f"sha256:{digest(plain)}"]}
    config = encode({**platform, "created": created, "config": settings(source), "rootfs": root, "history": history})
    manifest = encode({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.oci.image.config.v1+json", config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", packed)],
    })
    tag = f"{source.name}:{source.version}"
    listed = descriptor("application/vnd.oci.image.manifest.v1+json", manifest)
    listed |= {"platform": platform, "annotations": {"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": f"docker.io/library/{tag}"}}
    # The last file is for versions of Docker that don't read the OCI layout.
    old = [{"Config": blob(config), "RepoTags": [tag], "Layers": [blob(packed)]}]
    entries = [
        Entry("oci-layout", encode({"imageLayoutVersion": "1.0.0"})),
        Entry("index.json", encode({"schemaVersion": 2, "manifests": [listed]})),
        Entry("manifest.json", encode(old)),
        *(Entry(blob(data), data) for data in (config, manifest, packed)),
    ]
    (out / f"{source.name}-{source.version}-image-{program.debian}.tar").write_bytes(tar(entries, source.epoch))


def layer(program):
    """Returns what `COPY` puts into the image: the program, and folders of its user."""
    entries = [Entry("nacre", program.path.read_bytes(), 0o755)]
    entries += [Entry(name, b"", 0o755, 1000, True) for name in ("memory", "tmp")]
    if not program.is_static:
        found = subprocess.run(["ldd", program.path], check=True, capture_output=True, text=True).stdout
        for file in re.findall(r"(/\S+) \(0x", found):
            entries.append(Entry(file.lstrip("/"), Path(file).read_bytes(), 0o755))
    return entries


def settings(source):
    """Reads the configuration of the image from the last stage of the Dockerfile."""
    stage = source.text("Dockerfile").rsplit("\nFROM ", 1)[1]
    said = dict(re.findall(r"^(USER|ENV|VOLUME|EXPOSE|ENTRYPOINT|CMD) (.*)$", stage, re.MULTILINE))
    return {
        "User": said["USER"],
        "Env": [said["ENV"]],
        "Volumes": {said["VOLUME"]: {}},
        "ExposedPorts": {f"{said['EXPOSE']}/tcp": {}},
        "Entrypoint": json.loads(said["ENTRYPOINT"]),
        "Cmd": json.loads(said["CMD"]),
        "Labels": {"org.opencontainers.image.version": source.version, "org.opencontainers.image.licenses": source.license},
    }


def descriptor(kind, data):
    return {"mediaType": kind, "digest": f"sha256:{digest(data)}", "size": len(data)}


def blob(data):
    return f"blobs/sha256/{digest(data)}"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def encode(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
