"""Writes check_vectors.json from the model file: check_vectors.py MODEL

What the Rust encoder must agree with: tokens exactly, the first components of the vector nearly.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

import wordpiece

TEXTS = [
    "",
    "The dog was ill on Tuesday, so we stayed at home.",
    "What does Oksana's brother do for a living?!",
    "let user_name = getUserName(id) // TODO: handle None",
    "crates/nacre/src/embed/wordpiece.rs:42",
    "Zoë ate a crème brûlée at the CAFÉ in São Paulo.",
    "Cafe\u0301 au lait, nai\u0308ve re\u0301sume\u0301",
    "“Don’t worry” — she said… it costs €50 (or £43.20)",
    "1,234.56 on 2031-07-19 at 08:45 is 3.14159 of 1000000",
    "pneumonoultramicroscopicsilicovolcanoconiosis and Donaudampfschifffahrtsgesellschaft",
    "before " + "x" * 101 + " after " + "y" * 100,
    "我喜欢dogs和猫 so much",
    "Straße naïveté smørrebrød Łódź in März",
    "Привет, world! مرحبا again, ありがとう thanks",
    "soft\u00adly zero\u200bwidth tab\tand\nline\u00a0break",
    "[CLS] ##ing [unused5] <b>&amp;</b> ~`^|\\{}",
]


def read(path):
    file = Path(path).read_bytes()
    assert file[:8] == b"NACREMB1"
    dims, count, _, _, *starts = struct.unpack_from("<10I", file, 8)
    section = [file[a:b] for a, b in zip(starts, starts[1:])]
    rows = np.frombuffer(section[0], np.int8).reshape(count, dims).astype(np.float32)
    rows *= np.frombuffer(section[1], "<f4")[:, None]
    ends = np.frombuffer(section[3], "<u4").tolist()
    names = [section[4][a:b].decode() for a, b in zip(ends, ends[1:])]
    return names, rows


def main(model):
    names, rows = read(model)
    vocabulary = {name: row for row, name in enumerate(names)}
    checks = []
    for text in TEXTS:
        tokens = wordpiece.tokens(text, vocabulary)
        vector = rows[tokens].sum(0)
        vector /= max(np.linalg.norm(vector), 1e-12)
        first = [round(float(component), 6) for component in vector[:8]]
        checks.append({"text": text, "tokens": [names[row] for row in tokens], "vector": first})
    lines = ",\n".join(json.dumps(check) for check in checks)
    Path(__file__).with_name("check_vectors.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
