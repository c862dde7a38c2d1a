"""Makes the table of words of other languages: make_languages.py PAIRS MODEL TABLE

A row for each word, in the space of the English model, so that a text comes near the vector of its translation; each row
is written as four rows of the model with weights. PAIRS is made by `gather_pairs.py`; MODEL is the English model, which
stays as it is.
"""

import os

# One thread: sums in one order give one file.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import collections
import functools
import re
import struct
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import check_vectors
import wordpiece
from languages import LANGUAGES, beginnings, cut, fold, kind, words

ROWS_PER_LANGUAGE = 20_000
MAX_NAME_CHARS = 23
PAIRS_PER_ROW = 4
# How much a text counts that is translated through other languages, for each language between.
HOP = 0.7
HOPS = 3
# A word counts `a / (a + share)`: common words count little.
COMMON = 7e-4
RIDGE = 0.05
STEPS = 25
# The least share of a word that is counted, and the most that a word says about the language.
LEAST_SHARE = 1e-7
MAX_ODDS = 4.0
STARTED = time.time()


def say(*what):
    print(f"[{time.time() - STARTED:4.0f}s]", *what, flush=True)


def unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def counts(tokens, width, weight=None):
    """A sparse matrix, a row for each list of tokens."""
    lengths = [len(row) for row in tokens]
    columns = np.fromiter((token for row in tokens for token in row), np.int32, sum(lengths))
    values = np.ones(len(columns), np.float32) if weight is None else weight[columns]
    return sp.csr_matrix((values, columns, np.cumsum([0, *lengths])), shape=(len(tokens), width))


class English:
    def __init__(self, model):
        names, self.rows = check_vectors.read(model)
        self.vocabulary = {name: row for row, name in enumerate(names)}
        self.pieces = functools.lru_cache(1 << 18)(lambda word: tuple(wordpiece.pieces(word, self.vocabulary)))

    def tokens(self, text):
        # The same words, sooner.
        plain = re.findall(r"[a-z0-9]+|[^\sa-z0-9]", text.lower()) if text.isascii() else wordpiece.words(text)
        return [row for word in plain for row in self.pieces(word)]

    def embed(self, texts, step=20_000):
        parts = []
        for start in range(0, len(texts), step):
            tokens = [self.tokens(text) for text in texts[start : start + step]]
            parts.append(unit(counts(tokens, len(self.rows)) @ self.rows).astype(np.float32))
        return np.concatenate(parts)


def read_pairs(folder):
    """For each language, the pairs with English; and the pairs between other languages."""
    direct, between = collections.defaultdict(list), []
    for path in sorted(Path(folder).glob("*.tsv")):
        one, other = path.name.split(".")[1].split("-")
        pairs = [tuple(line.split("\t")) for line in path.read_text("utf8").splitlines()]
        if one == "en":
            direct[other] += [pair for pair in pairs if len(pair) == 2]
        else:
            between += [((one, pair[0]), (other, pair[1])) for pair in pairs if len(pair) == 2]
    return direct, between


def targets(english, direct, between):
    """Texts with their languages, the vector that each should have, and how much it counts."""
    sentences = sorted({pair[0] for pairs in direct.values() for pair in pairs})
    place = {sentence: number for number, sentence in enumerate(sentences)}
    vectors = english.embed(sentences)
    say("English texts", len(sentences))
    of_text = collections.defaultdict(list)
    for language in LANGUAGES:
        for sentence, text in direct[language]:
            of_text[language, text].append(place[sentence])
    number = {text: at for at, text in enumerate(of_text)}
    links = []
    for one, other in between:
        links.append([number.setdefault(text, len(number)) for text in (one, other)])
    texts = list(number)
    wanted = np.zeros((len(texts), vectors.shape[1]), np.float32)
    for at, places in enumerate(of_text.values()):
        wanted[at] = vectors[places].mean(0)
    wanted[: len(of_text)] = unit(wanted[: len(of_text)])
    weight = np.zeros(len(texts), np.float32)
    weight[: len(of_text)] = 1
    known = np.abs(wanted).sum(1) > 0
    links = np.array(links)
    links = np.concatenate([links, links[:, ::-1]])
    near = sp.csr_matrix((np.ones(len(links), np.float32), links.T), shape=(len(texts), len(texts)))
    for hop in range(1, HOPS + 1):
        new = np.flatnonzero(~known & (near @ known.astype(np.float32) > 0))
        wanted[new] = unit(near[new][:, np.flatnonzero(known)] @ wanted[known])
        weight[new] = HOP**hop
        known[new] = True
        say("hop", hop, "adds", len(new))
    kept = np.flatnonzero(known)
    return [texts[at] for at in kept], wanted[kept], weight[kept], sentences


def choose(texts, split):
    """The names of the rows: the most common words, beginnings and pieces of each language."""
    used = {language: collections.Counter() for language in LANGUAGES}
    forms = collections.defaultdict(set)
    for (language, _), found in zip(texts, split):
        count = used[language]
        for word in found:
            of_kind = kind(word[0])
            if of_kind == "c":
                count.update(word[at : at + length] for length in range(1, 5) for at in range(len(word) - length + 1))
            elif of_kind == "k":
                count.update(word[:length] for length in range(1, min(len(word), 6) + 1))
            else:
                count[word] += 1
                for name in beginnings(word):
                    count[name] += 1
                    forms[name].add(word)
    vocabulary = {}
    for language, count in used.items():

        def holds(name):
            """Tells whether a run of signs is more than its parts by chance, a beginning more than one word."""
            if name.endswith("*"):
                return len(forms[name]) > 1
            if len(name) == 1 or kind(name[0]) == "a":
                return True
            if kind(name[0]) == "k":
                return count[name] >= 3 or count[name] < 0.95 * count[name[:-1]]
            parts = (min(count[name[:at]], count[name[at:]]) for at in range(1, len(name)))
            return all(count[name] >= 0.12 * part for part in parts)

        names = (name for name, times in count.most_common() if times > 1 and len(name) <= MAX_NAME_CHARS and holds(name))
        for name, _ in zip(names, range(ROWS_PER_LANGUAGE)):
            vocabulary.setdefault(name, len(vocabulary))
    return vocabulary


def shares(texts, tokens, width):
    """How common each row is in the language where it is most common."""
    share = np.zeros(width)
    for language in LANGUAGES:
        of_language = [row for (name, _), rows in zip(texts, tokens) if name == language for row in rows]
        count = np.bincount(of_language, minlength=width)
        share = np.maximum(share, count / max(count.sum(), 1))
    return share


def odds(texts, split, sentences, vocabulary):
    """How much more common a whole word is in some other language than in English, as a logarithm."""
    other = np.zeros(len(vocabulary))
    for language in LANGUAGES:
        count = collections.Counter(word for (name, _), found in zip(texts, split) if name == language for word in found)
        everything = max(count.total(), 1)
        for word, times in count.items():
            if word in vocabulary:
                other[vocabulary[word]] = max(other[vocabulary[word]], times / everything)
    english = collections.Counter(word for sentence in sentences for word in words(fold(sentence)))
    share = np.array([english[name] for name in vocabulary]) / english.total()
    return np.clip(np.log((other + LEAST_SHARE) / (share + LEAST_SHARE)), -MAX_ODDS, MAX_ODDS)


def solve(tokens, weight, wanted, text_weight):
    """The rows whose weighted means come nearest to the wanted vectors: conjugate gradients, all columns at once."""
    some = [number for number, row in enumerate(tokens) if row]
    means = counts([tokens[number] for number in some], len(weight), weight)
    sums = np.asarray(means.sum(1)).ravel()
    scale = np.sqrt(text_weight[some])
    means = (sp.diags((scale / np.maximum(sums, 1e-9)).astype(np.float32)) @ means).tocsr()
    wanted = wanted[some] * scale[:, None]
    turned = means.T.tocsr()
    rows = np.zeros((len(weight), wanted.shape[1]), np.float32)
    rest = turned @ wanted
    step = rest.copy()
    size = (rest * rest).sum(0)
    for _ in range(STEPS):
        moved = turned @ (means @ step) + np.float32(RIDGE) * step
        length = size / np.maximum((step * moved).sum(0), 1e-20)
        rows += length * step
        rest -= length * moved
        now = (rest * rest).sum(0)
        step = rest + now / np.maximum(size, 1e-20) * step
        size = now
    say("fit", round(float((unit(means @ rows) * unit(wanted)).sum(1).mean()), 4))
    return rows * weight[:, None]


def as_pairs(rows, english, step=4096):
    """Each row as a few rows of the model with weights: orthogonal matching pursuit."""
    lengths = np.maximum(np.linalg.norm(english.rows, axis=1), 1e-9)
    atoms = (english.rows / lengths[:, None]).astype(np.float32)
    chosen = np.zeros((len(rows), PAIRS_PER_ROW), np.int64)
    weights = np.zeros((len(rows), PAIRS_PER_ROW), np.float32)
    for start in range(0, len(rows), step):
        target = rows[start : start + step]
        rest, picked = target, np.zeros((len(target), 0), np.int64)
        for _ in range(PAIRS_PER_ROW):
            likeness = np.abs(rest @ atoms.T)
            np.put_along_axis(likeness, picked, -1, 1)
            picked = np.concatenate([picked, likeness.argmax(1)[:, None]], 1)
            basis = atoms[picked]
            gram = np.einsum("nkd,nld->nkl", basis, basis) + 1e-4 * np.eye(picked.shape[1], dtype=np.float32)
            toward = np.einsum("nkd,nd->nk", basis, target)
            weight = np.linalg.solve(gram, toward[..., None])[..., 0]
            rest = target - np.einsum("nk,nkd->nd", weight, basis)
        chosen[start : start + step], weights[start : start + step] = picked, weight
    # The strongest first: the table is a dictionary too.
    order = np.argsort(-weights, axis=1, kind="stable")
    chosen, weights = np.take_along_axis(chosen, order, 1), np.take_along_axis(weights, order, 1)
    return chosen, weights / lengths[chosen]


def scales(weights):
    """256 scales, and for each row the smallest that its weights fit."""
    largest = np.maximum(np.abs(weights).max(1) / 127, 1e-12)
    low, high = np.log(np.quantile(largest, 1e-4)), np.log(largest.max())
    table = np.exp(np.linspace(low, high * (1 - 1e-6) + 1e-6, 256)).astype("<f4")
    return table, np.clip(np.searchsorted(table, largest), 0, 255)


BLOCK = 16


def coded(names):
    """Sorted names in blocks; of each name the length that it shares with the one before it, and the rest."""
    starts, out, before = [], bytearray(), b""
    for number, name in enumerate(names):
        if number % BLOCK == 0:
            starts.append(len(out))
            before = b""
        shared = len(os.path.commonprefix([before, name]))
        out += bytes([shared, len(name) - shared]) + name[shared:]
        before = name
    return np.array(starts, "<u4").tobytes(), bytes(out)


def write(path, vocabulary, chosen, weights, share, odds):
    """The form is described in `crates/nacre/src/index/embed/foreign.rs`."""
    names = sorted((name.encode(), row) for name, row in vocabulary.items())
    order = np.array([row for _, row in names])
    chosen, weights, share, odds = chosen[order], weights[order], share[order], odds[order]
    table, scale = scales(weights)
    rows = np.zeros(len(order), [("rows", "<u2", 4), ("weights", "i1", 4), ("scale", "u1"), ("counts", "u1"), ("odds", "i1")])
    rows["rows"], rows["scale"] = chosen, scale
    rows["weights"] = np.clip(np.round(weights / table[scale][:, None]), -127, 127)
    rows["counts"] = np.round(255 * COMMON / (COMMON + share))
    rows["odds"] = np.round(odds * (127 / MAX_ODDS))
    starts, text = coded([name for name, _ in names])
    sections = [table.tobytes(), starts, rows.tobytes(), text]
    ends = 8 + 4 * (2 + len(sections)) + np.cumsum([0, *map(len, sections)])
    Path(path).write_bytes(b"NACRELG1" + struct.pack("<I", len(order)) + ends.astype("<u4").tobytes() + b"".join(sections))


def main(pairs, model, path):
    english = English(model)
    texts, wanted, text_weight, sentences = targets(english, *read_pairs(pairs))
    split = [words(fold(text)) for _, text in texts]
    say("texts", len(texts))
    vocabulary = choose(texts, split)
    say("rows", len(vocabulary))
    known = functools.lru_cache(1 << 20)(lambda word: cut(word, vocabulary))
    tokens = [[row for word in found for row in known(word)] for found in split]
    share = shares(texts, tokens, len(vocabulary))
    toward = odds(texts, split, sentences, vocabulary)
    say("counted")
    rows = solve(tokens, (COMMON / (COMMON + share)).astype(np.float32), wanted, text_weight)
    chosen, weights = as_pairs(rows, english)
    write(path, vocabulary, chosen, weights, share, toward)
    say("written", Path(path).stat().st_size, "bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
