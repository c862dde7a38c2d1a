"""The files that a release has once for all platforms: the npm package, the Homebrew formula, checksums, signature and installer."""

import hashlib
import subprocess

import npm

SUMS = "SHA256SUMS"
# What a signature is for; ssh-keygen refuses one that was made for another purpose.
NAMESPACE = "nacre-release"
BREW = {"apple-darwin": "macos", "unknown-linux": "linux", "aarch64": "arm", "x86_64": "intel"}


def write(source, out, url, key):
    npm.write_main(source, out)
    archives = {target_of(source, file): file for file in sorted(out.glob(f"{source.name}-{source.version}-*.tar.gz"))}
    (out / "nacre.rb").write_text(formula(source, archives, url))
    if key:
        signer = subprocess.run(["ssh-keygen", "-y", "-f", key], check=True, capture_output=True, text=True).stdout
        values = {"VERSION": source.version, "URL": url, "NAMESPACE": NAMESPACE, "SIGNER": " ".join(signer.split()[:2])}
        (out / "install.sh").write_text(filled(source.text("packaging/install.sh"), values))
    files = sorted(file for file in out.iterdir() if not file.name.startswith(SUMS))
    (out / SUMS).write_text("".join(f"{sha256(file)}  {file.name}\n" for file in files))
    (out / f"{SUMS}.sig").unlink(missing_ok=True)
    if key:
        subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", key, out / SUMS], check=True)


def target_of(source, file):
    return file.name.removeprefix(f"{source.name}-{source.version}-").removesuffix(".tar.gz")


def formula(source, archives, url):
    text = ""
    for target, file in archives.items():
        words = [word for part, word in BREW.items() if part in target]
        if len(words) == 2:
            system, processor = words
            text += f'\n  on_{system} do\n    on_{processor} do\n      url "{url}/{file.name}"\n      sha256 "{sha256(file)}"\n    end\n  end\n'
    values = {"VERSION": source.version, "URL": url, "DESCRIPTION": source.description.split(":")[0], "ARCHIVES": text}
    return filled(source.text("packaging/nacre.rb"), values)


def filled(text, values):
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()
