"""Makes the built-in embedding model: make_model.py DATA OUT

DATA holds training_text.tsv.zst; OUT is the model file, crates/nacre/model/builtin.bin. README.md says what is made and
why. The same inputs and package versions give the same file on the same kind of processor.
"""

import hashlib
import os
import struct
import sys
from pathlib import Path

# Each of the teacher's threads multiplies on its own; one order of sums, one result.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import scipy.sparse as sparse
import zstandard

import teacher
import wordpiece

CACHE = Path(__file__).resolve().parent.parent / ".tools" / "training"
DIMS = 256
SEED = 1
HELD_OUT = 0.05
COMMON = 1e-3  # a token of this frequency counts half (SIF)
PULL = 1.0  # how strongly a row is held to what the teacher says of the token alone
STEPS = 40
LARGEST_FILE = 8_000_000


def main(data, out):
    texts_file = Path(data) / "training_text.tsv.zst"
    texts = read_texts(texts_file)
    model = teacher.Teacher()
    for path in (texts_file, model.weights_file, model.vocabulary_file):
        print(f"{sha256(path.read_bytes())}  {path.name}")

    print(f"teacher: {len(texts)} texts", flush=True)
    targets = normalised(cached(model, [model.ids(text) for text in texts]))
    names, ids = vocabulary(model)
    print(f"teacher: {len(names)} tokens alone", flush=True)
    cls, sep = model.vocabulary["[CLS]"], model.vocabulary["[SEP]"]
    alone = cached(model, [[cls, i, sep] for i in ids])

    rows = {name: row for row, name in enumerate(names)}
    split = [wordpiece.tokens(text, rows) for text in texts]
    keep = [at for at, tokens in enumerate(split) if tokens]
    order = np.random.default_rng(SEED).permutation(keep)
    held_out, taught = np.split(order, [round(len(order) * HELD_OUT)])

    weights = token_weights([split[at] for at in taught], len(names))
    centre = targets[taught].mean(0)
    x = means([split[at] for at in taught], weights)
    y = targets[taught] - centre
    start = alone - alone.mean(0)
    guess = x @ start
    start *= (guess * y).sum() / np.square(guess).sum()
    solved = solve(x, y, start)

    unseen_x, unseen_y = means([split[at] for at in held_out], weights), targets[held_out] - centre
    print(f"cosine to the teacher on {len(held_out)} held-out texts")
    print(f"  tokens alone         {cosine(unseen_x @ start, unseen_y):.4f}")
    print(f"  solved, {teacher.DIMS}          {cosine(unseen_x @ solved, unseen_y):.4f}")

    axes = main_axes(x @ solved)[:, :DIMS]
    scales, quantised = to_int8((solved * weights[:, None]) @ axes)
    # The sum of a text's rows, as Nacre makes it, turned back to the teacher's axes.
    counts = means([split[at] for at in held_out], np.ones(len(names), np.float32))
    shipped = counts @ (scales[:, None] * quantised)
    print(f"  as shipped, {DIMS} int8 {cosine(shipped @ axes.T, unseen_y):.4f}")
    print(f"  same, among {DIMS} axes {cosine(shipped, unseen_y @ axes):.4f}")

    file = pack(names, scales, quantised)
    assert len(file) <= LARGEST_FILE, len(file)
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    Path(out).write_bytes(file)
    print(f"{sha256(file)}  {Path(out).name}, {len(file)} bytes, {len(names)} rows")


def read_texts(path):
    with zstandard.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n").split("\t", 1)[1] for line in lines]


def cached(model, sequences):
    """Returns the teacher's vectors, from disk where it has been asked the same before."""
    asked = "\n".join(" ".join(map(str, sequence)) for sequence in sequences)
    path = CACHE / f"teacher-{sha256(asked.encode() + sha256(model.weights_file.read_bytes()).encode())[:16]}.npy"
    if not path.exists():
        vectors = model.encode(sequences, teacher.report(len(sequences)))
        CACHE.mkdir(parents=True, exist_ok=True)
        np.save(path.with_suffix(".tmp.npy"), vectors)
        path.with_suffix(".tmp.npy").rename(path)
    return np.load(path)


def vocabulary(model):
    """Returns the tokens that get a row, and their numbers in the teacher's vocabulary."""
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    kept = [
        (name, i)
        for i, name in enumerate(model.names)
        if name.isascii() and name not in special and not name.startswith("[unused")
    ]
    return [name for name, _ in kept], [i for _, i in kept]


def token_weights(split, count):
    """Returns how much each token counts in a text: less, the more common it is."""
    seen = 1 + np.bincount([row for tokens in split for row in tokens], minlength=count)
    return (COMMON / (COMMON + seen / seen.sum())).astype(np.float32)


def means(split, weights):
    """Returns the matrix that takes token rows to the weighted mean of each text's tokens."""
    at = np.repeat(np.arange(len(split)), [len(tokens) for tokens in split])
    rows = np.concatenate([np.array(tokens, np.int64) for tokens in split])
    matrix = sparse.csr_array((weights[rows], (at, rows)), shape=(len(split), len(weights)), dtype=np.float32)
    return sparse.diags_array(1 / matrix.sum(1).astype(np.float32)).tocsr() @ matrix


def solve(x, y, start):
    """Returns the rows that minimise |x rows - y|^2 + PULL |rows - start|^2, by conjugate gradients."""
    # Three of the teacher's components are dead, always next to zero: there is nothing to solve and nothing to divide by.
    tiny = np.float32(1e-20)
    back = x.T.tocsr()
    change = np.zeros_like(start)
    residual = back @ (y - x @ start)
    direction = residual.copy()
    size = np.square(residual).sum(0)
    for _ in range(STEPS):
        moved = back @ (x @ direction) + np.float32(PULL) * direction
        step = size / np.maximum((direction * moved).sum(0), tiny)
        change += step * direction
        residual -= step * moved
        smaller = np.square(residual).sum(0)
        direction = residual + smaller / np.maximum(size, tiny) * direction
        size = smaller
    return start + change


def main_axes(vectors):
    """Returns the directions along which the vectors differ most, strongest first, with a fixed sign."""
    _, axes = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)
    axes = axes[:, ::-1]
    return (axes * np.sign(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])])).astype(np.float32)


def to_int8(rows):
    scales = (np.abs(rows).max(1) / 127).astype(np.float32)
    return scales, np.round(rows / scales[:, None]).astype(np.int8)


def pack(names, scales, quantised):
    """Returns the model file; crates/nacre/src/index/embed/builtin.rs describes it."""
    blob = [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, blob)]).astype("<u4")
    slots = np.full(1 << (2 * len(names) - 1).bit_length(), 0xFFFF_FFFF, "<u4")
    for row, name in enumerate(blob):
        at = fnv1a(name) % len(slots)
        while slots[at] != 0xFFFF_FFFF:
            at = (at + 1) % len(slots)
        slots[at] = row
    sections = [quantised.tobytes(), scales.astype("<f4").tobytes(), slots.tobytes(), ends.tobytes(), b"".join(blob)]
    header_size = 64
    starts = np.cumsum([header_size, *map(len, sections)]).tolist()
    counts = (quantised.shape[1], len(names), len(slots), max(map(len, blob)))
    header = b"NACREMB1" + struct.pack("<4I", *counts) + struct.pack("<6I", *starts)
    return header.ljust(header_size, b"\0") + b"".join(sections)


def fnv1a(name):
    """FNV-1a, 32 bit."""
    value = 0x811C9DC5
    for byte in name:
        value = (value ^ byte) * 0x01000193 & 0xFFFF_FFFF
    return value


def normalised(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def cosine(a, b):
    return float((normalised(a) * normalised(b)).sum(1).mean())


def sha256(content):
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    main(*sys.argv[1:])
