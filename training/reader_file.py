"""Reads crates/nacre/model/reader.bin into float arrays."""
import json, struct, numpy as np


def tensors(raw):
    """The arrays of a file of safetensors in 32-bit floats, by name."""
    size = int.from_bytes(raw[:8], "little")
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name == "__metadata__" or entry["dtype"] != "F32": continue
        a, b = entry["data_offsets"]
        yield name, np.frombuffer(raw[8 + size + a : 8 + size + b], np.float32).reshape(entry["shape"])


def in_eight_bits(w):
    """Rows of whole numbers up to 127, and the scale of each row."""
    s = np.abs(w).max(1, keepdims=True) / 127 + 1e-12
    return np.round(w / s).astype(np.int8), s.astype(np.float16)


MATRICES = [("qkv", 1, 3), ("out", 1, 1), ("wide", 1, 4), ("narrow", 4, 1)]
class ReaderFile:
    def __init__(self, path):
        b = open(path, "rb").read(); self.b = b
        n = struct.unpack("<8I", b[8:40])
        _, D, L, I, P, T, NM, J = n
        self.D, self.L, self.I, self.P, self.T, self.NM, self.J = D, L, I, P, T, NM, J
        self.at = 128
        rows = np.frombuffer(self.take(T * (D // 2 + D // 32 * 2)), np.uint8).reshape(T, -1)
        codes = rows[:, :D // 2]; lo = (codes & 15).astype(np.int8) - 8; hi = (codes >> 4).astype(np.int8) - 8
        w = np.stack([lo, hi], -1).reshape(T, D).astype(np.float32)
        sc = rows[:, D // 2:].copy().view(np.float16).astype(np.float32)
        self.rows = w * np.repeat(sc, 32, 1)
        self.places = np.frombuffer(self.take(2 * P * D), np.float16).reshape(P, D).astype(np.float32)
        self.norm = self.floats(2 * D).reshape(2, D)
        self.near_start = self.at
        self.near = [self.layer() for _ in range(L)]
        self.judge_start = self.at
        self.judge = [self.layer() for _ in range(J)]
        self.heads = self.floats(5 * D).reshape(5, D); self.biases = self.floats(5)
        self.judge_end = self.at
    def take(self, n):
        r = self.b[self.at:self.at + n]; self.at += n; return r
    def floats(self, n): return np.frombuffer(self.take(4 * n), np.float32).copy()
    def matrix(self, inp, out):
        BL = 32 + 256
        a = np.frombuffer(self.take(inp // 32 * (out // 16) * BL), np.uint8).reshape(out // 16, inp // 32, BL)
        sc = a[:, :, :32].copy().view(np.float16).astype(np.float32)  # ob, g, 16
        lines = a[:, :, 32:].reshape(out // 16, inp // 32, 4, 16, 4)
        lo = (lines & 15).astype(np.float32) - 8; hi = (lines >> 4).astype(np.float32) - 8
        w = np.stack([lo, hi], 3)  # ob,g,4,2,16,4
        w = w.transpose(0, 4, 1, 2, 3, 5).reshape(out // 16, 16, inp // 32, 32)
        w = w * sc.transpose(0, 2, 1)[..., None]
        return w.reshape(out, inp)
    def layer(self):
        D, I = self.D, self.I
        l = {}
        l["qkv"] = self.matrix(D, 3 * D); l["qkv_b"] = self.floats(3 * D)
        l["out"] = self.matrix(D, D); l["out_b"] = self.floats(D); l["n1"] = self.floats(2 * D).reshape(2, D)
        l["wide"] = self.matrix(D, I); l["wide_b"] = self.floats(I)
        l["narrow"] = self.matrix(I, D); l["narrow_b"] = self.floats(D); l["n2"] = self.floats(2 * D).reshape(2, D)
        return l
