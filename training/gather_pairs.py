"""Writes pairs of texts that mean the same, one file for each source and two languages: gather_pairs.py SOURCES PAIRS

SOURCES is a folder with a bare clone of each repository below, named NAME.git, the three packages of `CLDR` as
`npm pack` writes them, and `wordnet`, the folder of the Debian package wordnet-base. Each file of PAIRS is
`SOURCE.ONE-OTHER.tsv`, English first. The README lists the licence of each source.
"""

import collections
import gzip
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from languages import LANGUAGES

COMMITS = {
    "Tatoeba-Challenge": "d34a89ac102fd236503a1911dd1050564bf4e682",
    "vscode-loc": "da6509eed60b550e0e785d0d78ac05be46d5e982",
    "tldr": "08e345f42639f67d99282813247ac670dc6e87cb",
    "comprehensive-rust": "351fafafa965cba8e45a3136b8ff6022bba9942b",
    "python-docs-es": "91f4ccc0baa8c7cbeb739e696c641388264caa30",
    "omw-data": "f75be19ec590da12a7a5665e361690b5badb7a25",
}
CLDR = ("cldr-annotations-derived-full-48.2.0", "cldr-annotations-full-48.2.0", "cldr-localenames-full-48.2.0")
# Larger files are left out: some copies of these repositories lack them.
MAX_FILE_BYTES = 4 << 20
MAX_TEXT_CHARS = 600


class Repository:
    def __init__(self, sources, name):
        self.git = ["git", "-C", str(sources / f"{name}.git")]
        self.commit = COMMITS[name]

    def paths(self, pattern):
        """The paths of the files that a pattern matches."""
        listed = subprocess.run([*self.git, "ls-tree", "-r", "-l", self.commit], capture_output=True, check=False)
        for line in listed.stdout.decode().splitlines():
            about, path = line.split("\t")
            size = about.split()[-1]
            if size.isdigit() and int(size) <= MAX_FILE_BYTES and re.search(pattern, path):
                yield path

    def read(self, paths):
        """Each path with the bytes of its file; a missing one is left out."""
        git = subprocess.Popen([*self.git, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for path in paths:
            git.stdin.write(f"{self.commit}:{path}\n".encode())
            git.stdin.flush()
            head = git.stdout.readline().split()
            if head[-1] != b"missing":
                yield path, git.stdout.read(int(head[2]))
                git.stdout.read(1)
        git.stdin.close()
        git.wait()


def clean(text):
    """A text without placeholders and markup."""
    text = re.sub(r"\{\{.*?\}\}|\{\d+\}|`+|:\w+:(?=`)|&&|[*_<>]", " ", text)
    return re.sub(r"\s+", " ", text).strip()


def tatoeba(sources):
    """Sentences that people translated, between all languages. The training data beside them is not used."""
    codes = dict(eng="en", deu="de", spa="es", fra="fr", por="pt", ita="it", nld="nl", pol="pl", rus="ru", tur="tr")
    codes |= dict(zho="zh", cmn="zh", jpn="ja", kor="ko")
    repository = Repository(sources, "Tatoeba-Challenge")
    found = collections.defaultdict(dict)
    folders = r"^data/(?:release/(?:dev|test)|devtest|dev|test)/.*\.txt(?:\.gz)?$"
    named = re.compile(r"[./]([a-z]{3})-([a-z]{3})[./]")
    paths = [path for path in repository.paths(folders) if (name := named.search(path)) and {name[1], name[2]} <= codes.keys()]
    for path, body in repository.read(paths):
        name = named.search(path)
        one, other = codes[name[1]], codes[name[2]]
        body = gzip.decompress(body) if path.endswith(".gz") else body
        for row in body.decode("utf8", "replace").splitlines():
            columns = row.split("\t")
            if len(columns) < 4 or one == other:
                continue
            left, right = columns[-2].strip(), columns[-1].strip()
            # English first, other languages by name.
            pair = (left, right, one, other) if (one != "en", one) < (other != "en", other) else (right, left, other, one)
            if left and right:
                found[pair[2:]][pair[:2]] = None
    return sorted(found.items())


def vscode(sources):
    """Texts of a program. The English ones are read back from its pseudo-language."""
    plain = str.maketrans("ÆæÇçÐðËëÏïÑñØøÜüµÞþßÅåÖöÝýŠš¥£Ƨ", "AaCcDdEeIiNnOoUuuPpBAaOoYySsYLS")
    repository = Repository(sources, "vscode-loc")
    texts = collections.defaultdict(dict)
    for path, body in repository.read(repository.paths(r"^i18n/.*\.i18n\.json$")):
        pack, name = re.match(r"i18n/vscode-language-pack-([^/]+)/translations/(.*)", path).groups()
        language = {"pt-BR": "pt", "zh-hans": "zh", "qps-ploc": "en"}.get(pack, pack)
        for module, entries in json.loads(body)["contents"].items():
            for key, text in entries.items():
                texts[language][name, module, key] = text
    english = {key: text.translate(plain) for key, text in texts["en"].items()}
    return by_language(lambda language: ((english[key], text) for key, text in texts[language].items() if key in english))


def tldr(sources):
    """Descriptions of commands, line by line where a page has as many lines as the English one."""
    repository = Repository(sources, "tldr")
    pages = {path: body.decode() for path, body in repository.read(repository.paths(r"^pages.*\.md$"))}

    def lines(page):
        return [line[2:] for line in page.splitlines() if line[:2] in ("> ", "- ")]

    def pairs(language):
        folder = "pages.pt_BR/" if language == "pt" else f"pages.{language}/"
        for path in (path for path in pages if path.startswith(folder)):
            english = lines(pages.get("pages/" + path.split("/", 1)[1], ""))
            other = lines(pages[path])
            if len(english) == len(other):
                yield from (pair for pair in zip(english, other) if "http" not in pair[0])

    return by_language(pairs)


def messages(text):
    """The messages of a file of translations."""
    for block in text.split("\n\n"):
        found = re.search(r'^msgid ((?:".*"\n?)+)^msgstr ((?:".*"\n?)+)', block + "\n", re.M)
        if found and "#, fuzzy" not in block:
            parts = ("".join(re.findall(r'^"(.*)"$', part, re.M)) for part in found.groups())
            yield [re.sub(r":\w+:`", "`", part.replace("\\n", " ").replace('\\"', '"')) for part in parts]


def rust(sources):
    repository = Repository(sources, "comprehensive-rust")

    def pairs(language):
        name = {"pt": "pt-BR", "zh": "zh-CN"}.get(language, language)
        for _, body in repository.read([f"po/{name}.po"]):
            yield from messages(body.decode())

    return by_language(pairs)


def pydoc(sources):
    repository = Repository(sources, "python-docs-es")
    files = repository.read(repository.paths(r"\.po$"))
    return [(("en", "es"), [pair for _, body in files for pair in messages(body.decode())])]


def cldr(sources):
    """Names and keywords of signs, countries, languages and scripts."""
    names = collections.defaultdict(dict)
    for package in CLDR:
        with tarfile.open(sources / f"{package}.tgz") as files:
            for file in files:
                place = re.search(r"/([a-z]{2})/(annotations|territories|languages|scripts)\.json$", file.name)
                if not place or place[1] not in (*LANGUAGES, "en"):
                    continue
                language, part = place.groups()
                data = json.load(files.extractfile(file))
                if part == "annotations":
                    signs = (data.get("annotations") or data["annotationsDerived"])["annotations"]
                    for sign, about in signs.items():
                        words = about.get("tts", []) + about.get("default", [])
                        names[language][package, sign] = " ".join(words)
                else:
                    for key, name in data["main"][language]["localeDisplayNames"][part].items():
                        names[language][part, key] = name
    english = names["en"]
    return by_language(lambda language: ((english[key], name) for key, name in names[language].items() if key in english))


def wordnets(sources):
    """Words of the wordnets whose licence asks for no more than their name: Italian, Polish, Chinese."""
    english = collections.defaultdict(list)
    for part in ("noun", "verb", "adj", "adv"):
        for line in (sources / "wordnet" / f"data.{part}").read_text("latin1").splitlines():
            if not line.startswith(" "):
                columns = line.split()
                key = f"{columns[0]}-{columns[2].replace('s', 'a')}"
                words = columns[4 : 4 + 2 * int(columns[3], 16) : 2]
                english[key] += [re.sub(r"\(.*", "", word).replace("_", " ") for word in words]
    repository = Repository(sources, "omw-data")
    files = dict(it="ita/wn-data-ita", pl="pol/wn-data-pol", zh="cow/wn-data-cmn")
    found = []
    for language, name in files.items():
        senses = collections.defaultdict(list)
        for _, body in repository.read([f"wns/{name}.tab"]):
            for columns in (line.split("\t") for line in body.decode().splitlines()):
                if len(columns) >= 3 and columns[1].split(":")[-1] == "lemma":
                    senses[columns[0].replace("-s", "-a")].append(columns[2].replace("_", " ").replace("+", ""))
        pairs = [(" ".join(english[key][:3]), word) for key, words in senses.items() if key in english for word in words[:4]]
        found.append((("en", language), pairs))
    return found


def by_language(pairs):
    return [(("en", language), pairs(language)) for language in LANGUAGES]


def main(sources, pairs):
    sources, pairs = Path(sources), Path(pairs)
    pairs.mkdir(parents=True, exist_ok=True)
    for source in (tatoeba, vscode, tldr, rust, pydoc, cldr, wordnets):
        for languages, texts in source(sources):
            # Sentences of Tatoeba have no markup.
            texts = texts if source is tatoeba else ((clean(one), clean(other)) for one, other in texts)
            kept = {(one, other): None for one, other in texts if one and other and one != other and len(one) < MAX_TEXT_CHARS}
            lines = "".join(f"{one}\t{other}\n" for one, other in kept if "\t" not in one + other)
            (pairs / f"{source.__name__}.{'-'.join(languages)}.tsv").write_text(lines, "utf8")
            print(source.__name__, *languages, len(kept), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
