"""Writes layers that train_judge.py and train_near.py gave into the reader: pack_reader.py READER LAYERS.npz ...

Layers with heads judge, others give vectors. The token rows stay as they are, byte for byte.
"""
import sys
import blake3, numpy as np
from reader_file import ReaderFile

target, files = sys.argv[1], sys.argv[2:]
old = ReaderFile(target)


def matrix(z, name):
    """Blocks of 32 weights of each of 16 outputs, as `kernel.rs` describes them."""
    codes, scales = (z[name].astype(np.int16) + 8).astype(np.uint8), z[name + ".s"].astype(np.float16)
    outputs, inputs = codes.shape
    c = codes.reshape(outputs // 16, 16, inputs // 32, 4, 2, 4).transpose(0, 2, 3, 4, 1, 5)
    lines = (c[:, :, :, 0] | c[:, :, :, 1] << 4).reshape(outputs // 16, inputs // 32, 256)
    first = scales.reshape(outputs // 16, 16, inputs // 32).transpose(0, 2, 1).copy().view(np.uint8)
    return np.concatenate([first, lines], 2).tobytes()


def stack(z, count):
    floats = lambda *names: b"".join(z[name].astype("<f4").tobytes() for name in names)
    out = b""
    for i in range(count):
        at = f"layers.{i}."
        out += matrix(z, at + "qkv.weight") + floats(at + "qkv.bias")
        out += matrix(z, at + "out.weight") + floats(at + "out.bias", at + "n1.weight", at + "n1.bias")
        out += matrix(z, at + "wide.weight") + floats(at + "wide.bias")
        out += matrix(z, at + "narrow.weight") + floats(at + "narrow.bias", at + "n2.weight", at + "n2.bias")
    return out + (floats("heads.weight", "heads.bias") if "heads.weight" in z.files else b"")


new = bytearray(old.b)
for file in files:
    z = np.load(file)
    judges = "heads.weight" in z.files
    start, end = (old.judge_start, old.judge_end) if judges else (old.near_start, old.judge_start)
    layers = stack(z, old.J if judges else old.L)
    assert len(layers) == end - start, file
    new[start:end] = layers
# The source of the weights, then the checksum.
new[64:96] = blake3.blake3(b"".join(open(file, "rb").read() for file in files)).digest()
new[96:128] = blake3.blake3(bytes(new[:96]) + bytes(new[128:])).digest()
open(target, "wb").write(new)
print(len(new), "bytes")
