"""Writes the judging layers that `train_judge.py` gave into the reader: pack_judge.py LAYERS.npz READER.

The token rows and the layers that give vectors stay as they are, byte for byte.
"""
import sys
import blake3, numpy as np
from reader_file import ReaderFile

layers, target = sys.argv[1:3]
old = ReaderFile(target)
z = np.load(layers)


def matrix(name):
    """Blocks of 32 weights of each of 16 outputs, as `kernel.rs` describes them."""
    codes, scales = (z[name].astype(np.int16) + 8).astype(np.uint8), z[name + ".s"].astype(np.float16)
    outputs, inputs = codes.shape
    c = codes.reshape(outputs // 16, 16, inputs // 32, 4, 2, 4).transpose(0, 2, 3, 4, 1, 5)
    lines = (c[:, :, :, 0] | c[:, :, :, 1] << 4).reshape(outputs // 16, inputs // 32, 256)
    first = scales.reshape(outputs // 16, 16, inputs // 32).transpose(0, 2, 1).copy().view(np.uint8)
    return np.concatenate([first, lines], 2).tobytes()


floats = lambda *names: b"".join(z[name].astype("<f4").tobytes() for name in names)
judge = b""
for i in range(old.J):
    at = f"layers.{i}."
    judge += matrix(at + "qkv.weight") + floats(at + "qkv.bias")
    judge += matrix(at + "out.weight") + floats(at + "out.bias", at + "n1.weight", at + "n1.bias")
    judge += matrix(at + "wide.weight") + floats(at + "wide.bias")
    judge += matrix(at + "narrow.weight") + floats(at + "narrow.bias", at + "n2.weight", at + "n2.bias")
judge += floats("heads.weight", "heads.bias")
new = bytearray(old.b)
assert len(judge) == old.judge_end - old.judge_start
new[old.judge_start : old.judge_end] = judge
# The source of the weights, then the checksum.
new[64:96] = blake3.blake3(open(layers, "rb").read()).digest()
new[96:128] = blake3.blake3(bytes(new[:96]) + bytes(new[128:])).digest()
open(target, "wb").write(new)
print(len(new), "bytes")
