"""Collects what `train_judge.py` learns from: collect.py TEXTS FOLDER writes FOLDER/data.json.gz.

Pairs and memories come from crates/nacre-bench/data/conflicts and training/data, notes from crates/nacre-bench/data (tuned, trained and aside; never
what is held out). TEXTS has ordinary sentences, `source<TAB>text` a line, which are not part of this repository.
"""
import glob, gzip, json, os, random, re, sys

texts_file, folder = sys.argv[1:3]
BENCH, DATA = "crates/nacre-bench/data/", "training/data/"
read = lambda path: [json.loads(line) for line in open(path)]

pairs, worlds = [], []
for path in sorted(glob.glob(BENCH + "conflicts/*.jsonl") + glob.glob(DATA + "pairs-*.jsonl")):
    name = os.path.basename(path)[:-6].removeprefix("pairs-")
    if name.startswith("held"): continue
    pairs += [dict(a=d["first"], b=d["second"], l=d["label"], s=name) for d in read(path)]
for path in sorted(glob.glob(DATA + "memories-*.jsonl")):
    name = os.path.basename(path)[:-6].removeprefix("memories-")
    for d in read(path):
        conflicts = [[min(i, j), max(i, j), kind] for i, j, kind in d["conflicts"]]
        worlds.append(dict(s=name, t=[x["text"] for x in d["statements"]], c=conflicts))


def lines(memory):
    out = []
    for path in sorted(glob.glob(memory + "/memory/**/*.md", recursive=True)):
        heading = ""
        for line in open(path):
            line = line.strip()
            if line.startswith("#"):
                heading = line.lstrip("# ").strip()
                continue
            line = re.sub(r"^[-*] +", "", line)
            if len(line) > 2: out.append([heading or os.path.basename(path)[:-3], line])
    return out


notes = []
for memory in sorted(glob.glob(BENCH + "notes/tuned/*") + glob.glob(BENCH + "notes/trained/*") + glob.glob(BENCH + "notes/aside/*")):
    L = lines(memory)
    find = lambda patterns: [i for i, (_, t) in enumerate(L) if any(re.search(p, t) for p in patterns)]
    prompts = [dict(q=d["prompt"], g=find(d.get("want") or []), s=find(d.get("never") or [])) for d in read(memory + "/prompts.jsonl")]
    notes.append(dict(name=os.path.basename(memory), lines=L, ps=prompts))
memory = read(BENCH + "inject/memory.jsonl")
place = {m["id"]: i for i, m in enumerate(memory)}
known = lambda ids: [place[i] for i in ids or [] if i in place]
text = lambda m: m.get("text") or m.get("user") or m.get("agent") or ""
prompts = [dict(q=d["message"], g=known(d.get("needs")), s=known(d.get("also"))) for d in read(BENCH + "inject/tuned.jsonl")]
notes.append(dict(name="inject", lines=[["", text(m)] for m in memory], ps=prompts))

texts = [line.rstrip("\n").split("\t")[1] for line in open(texts_file) if not line.startswith("wordnet")]
random.seed(3)
random.shuffle(texts)
with gzip.open(os.path.join(folder, "data.json.gz"), "wt") as file:
    json.dump(dict(pairs=pairs, worlds=worlds, notes=notes, texts=texts[:16000]), file)
print(len(pairs), "pairs,", len(worlds), "memories with", sum(len(w["c"]) for w in worlds), "conflicts,", len(notes), "notes")
