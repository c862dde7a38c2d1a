"""Write NTREX and JSQuAD in the form that `nacre-bench quality` reads.

    git clone --bare https://github.com/MicrosoftTranslator/NTREX
    git clone --bare https://github.com/yahoojapan/JGLUE
    python3 convert.py NTREX.git JGLUE.git FOLDER

NTREX (CC BY-SA 4.0): the memory is the 1,997 English sentences; a question is one sentence in another language, and its answer
is the original. JSQuAD (CC BY-SA 4.0), the validation data: the memory is its paragraphs. Both are used for measuring alone.
"""

import json
import subprocess
import sys
from pathlib import Path

LANGUAGES = {
    "de": "deu", "es": "spa", "fr": "fra", "pt": "por", "it": "ita", "nl": "nld",
    "pl": "pol", "ru": "rus", "tr": "tur", "zh": "zho-CN", "ja": "jpn", "ko": "kor",
}


def read(repository, path):
    command = ["git", "-C", repository, "show", f"HEAD:{path}"]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode()


def write(folder, name, corpus, queries):
    lines = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in corpus)
    packed = subprocess.run(["zstd", "-q", "-c"], input=lines.encode(), check=True, capture_output=True).stdout
    (folder / f"{name}.corpus.jsonl.zst").write_bytes(packed)
    lines = (json.dumps(line, ensure_ascii=False) + "\n" for line in queries)
    (folder / f"{name}.queries.jsonl").write_text("".join(lines))


def ntrex(repository):
    english = read(repository, "NTREX-128/newstest2019-src.eng.txt").splitlines()
    corpus = [{"id": f"s{number}", "text": text} for number, text in enumerate(english)]
    queries = []
    for language, name in LANGUAGES.items():
        sentences = read(repository, f"NTREX-128/newstest2019-ref.{name}.txt").splitlines()
        assert len(sentences) == len(english), language
        for number, text in enumerate(sentences):
            # An original that occurs twice is right twice.
            gold = [f"s{same}" for same, other in enumerate(english) if other == english[number]]
            queries.append({"id": f"{language}{number}", "query": text, "category": language, "gold": gold})
    return corpus, queries


def jsquad(repository):
    data = json.loads(read(repository, "datasets/jsquad-v1.3/valid-v1.3.json"))["data"]
    corpus, queries = {}, []
    for paragraph in (paragraph for page in data for paragraph in page["paragraphs"]):
        # The title comes before the text.
        text = paragraph["context"].split("[SEP]")[-1].strip()
        identity = corpus.setdefault(text, f"p{len(corpus)}")
        for question in paragraph["qas"]:
            queries.append({"id": question["id"], "query": question["question"], "category": "ja", "gold": [identity]})
    return [{"id": identity, "text": text} for text, identity in corpus.items()], queries


def main():
    first, second, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, "ntrex", *ntrex(first))
    write(folder, "jsquad", *jsquad(second))


if __name__ == "__main__":
    main()
