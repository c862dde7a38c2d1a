"""WordPiece in the manner of BERT uncased: the reference for crates/nacre/src/index/embed/wordpiece.rs.

Two differences from BERT, the same in both: a sign outside ASCII always stands alone ("€50" is "€", "50"), and control
characters separate words.
"""

import unicodedata

LONGEST_WORD = 100

# Written inside a word and not seen: soft hyphen, joiners, byte order mark.
INVISIBLE = "\u00ad\u200c\u200d\u2060\ufeff"


def words(text):
    """Yields the words and signs of a text, in lower case and without accents."""
    word = ""
    for c in unicodedata.normalize("NFD", text.lower()):
        if unicodedata.category(c)[0] == "M" or c in INVISIBLE:
            continue
        if c.isalnum() and not is_ideograph(c):
            word += c
            continue
        if word:
            yield word
            word = ""
        if not (c.isspace() or unicodedata.category(c) == "Cc"):
            yield c
    if word:
        yield word


def is_ideograph(c):
    """Tells whether a character is a word of its own: Chinese is written without spaces."""
    return "\u3400" <= c <= "\u4dbf" or "\u4e00" <= c <= "\u9fff" or "\uf900" <= c <= "\ufaff" or "\U00020000" <= c <= "\U0002fa1f"


def pieces(word, vocabulary):
    """Returns the rows of a word's longest known pieces from left to right, or none if it can't be covered."""
    rows, start = [], 0
    if len(word) > LONGEST_WORD:
        return []
    while start < len(word):
        for end in range(len(word), start, -1):
            row = vocabulary.get(("##" if start else "") + word[start:end])
            if row is not None:
                rows.append(row)
                start = end
                break
        else:
            return []
    return rows


def tokens(text, vocabulary):
    """Returns the rows of all words that can be covered; the others are left out."""
    return [row for word in words(text) for row in pieces(word, vocabulary)]
