"""Writes minilm_vectors.json: what all-MiniLM-L6-v2 in full precision says of some texts.

The 4-bit encoder of crates/nacre-minilm/src/encoder.rs has to come near; `scripts/model` compares.
"""

import json
from pathlib import Path

import numpy as np

import teacher

TEXTS = [
    "What did Oksana say about the new job?",
    "Oksana starts as a nurse in Rotterdam next month, she told me on the phone.",
    "The build server ran out of disk space again last night.",
    "let user_name = getUserName(id) // TODO: handle None",
    "Zoë ate a crème brûlée at the CAFÉ in São Paulo — it cost €50.",
    "Straße, 我喜欢 dogs, Привет and " + "x" * 101,
    "",
    "The dog barked at the postman, and the postman ran. " * 40,
]


def main():
    teacher.LONGEST_TEXT = 256
    model = teacher.Teacher()
    vectors = model.encode([model.ids(text) for text in TEXTS])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lines = [
        json.dumps({"text": text, "vector": [round(float(component), 4) for component in vector]})
        for text, vector in zip(TEXTS, vectors)
    ]
    Path(__file__).with_name("minilm_vectors.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
