"""Words of languages other than English: how a text is cut into them, and the file that describes them.

The reference for `crates/nacre/src/index/embed/foreign.rs`; `check_vectors.py` writes texts that both must agree on.
"""

import unicodedata

LANGUAGES = ("de", "es", "fr", "pt", "it", "nl", "pl", "ru", "tr", "zh", "ja", "ko")

# Letters that Unicode does not decompose.
SPELLING = str.maketrans(
    {"ß": "ss", "ł": "l", "ø": "o", "ı": "i", "æ": "ae", "œ": "oe", "đ": "d"}
)


def fold(text):
    """Lower case, one form of each character; accents off Latin, Greek and Cyrillic letters only."""
    text = unicodedata.normalize("NFKC", text.lower()).lower()
    if text.isascii():
        return text
    out = []
    for c in text.translate(SPELLING):
        if "\x7f" < c < "\u0530" or "\u1e00" <= c < "\u2000":
            out += [k for k in unicodedata.normalize("NFD", c) if not "\u0300" <= k <= "\u036f"]
        elif not "\u0300" <= c <= "\u036f":
            out.append(c)
    return "".join(out)


def kind(c):
    """The kind of a character in a word: Han and kana `c`, Hangul `k`, other letters and digits `a`."""
    if c.isascii():
        return "a" if c.isalnum() else ""
    if "\u3041" <= c <= "\u30ff" or "\u3400" <= c <= "\u9fff" or "\uf900" <= c <= "\ufaff" or c == "\u3005":
        return "c" if c.isalnum() else ""
    if "\uac00" <= c <= "\ud7a3":
        return "k"
    return "a" if c.isalnum() else ""


def words(text):
    """The words of a folded text: runs of characters of one kind."""
    out, start, before = [], 0, ""
    for at, c in enumerate(text):
        now = kind(c)
        if now != before:
            if before:
                out.append(text[start:at])
            start, before = at, now
    if before:
        out.append(text[start:])
    return out


# The shortest and the longest piece that a word is cut into, in characters.
PIECES = {"c": (1, 4), "k": (1, 6), "a": (4, 23)}
# The lengths of the beginnings that inflected forms of a word share. They are named with an asterisk.
BEGINNINGS = (5, 7)


def beginnings(word):
    if kind(word[0]) != "a" or word[0].isdigit():
        return []
    return [word[:length] + "*" for length in BEGINNINGS if len(word) > length]


def cut(word, vocabulary):
    """The numbers of a word: its own or those of its longest known pieces from the left, then of its beginnings."""
    out = []
    if word in vocabulary:
        out.append(vocabulary[word])
    else:
        of_kind = kind(word[0])
        least, most = PIECES[of_kind]
        at = 0
        while at + least <= len(word):
            for end in range(min(len(word), at + most), at + least - 1, -1):
                number = vocabulary.get(word[at:end])
                if number is not None:
                    out.append(number)
                    at = end
                    break
            else:
                # Without a known stem nothing is guessed from the middle of a word.
                if of_kind == "a" and not out:
                    break
                at += 1
    out += [vocabulary[name] for name in beginnings(word) if name in vocabulary]
    return out
