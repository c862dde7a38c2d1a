"""Trains the layers of the compiled-in reader that turn a text into a vector: KEY=VALUE ...; training/README.md has the calls.

FOLDER (`folder=`) is made by gather_judge.py. A question or a message is to be near to the lines that answer it or help with it. `model=mpnet` trains a
teacher, which writes how near it finds every line of a memory (`soft=FILE`); the student, four layers that begin as those in
crates/nacre/model/reader.bin, learns from the mean of `teachers=A,B` beside the labels. `test=A,B` leaves notes out and reports on them.
`round=1` trains for weights in 4 bits; `out=FILE` has them for pack_reader.py.
"""
import json, gzip, os, random, sys, time
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from judge_net import DEVICE, Near, Teacher, batch, in_four_bits, reader, setup, tokens

args = dict(a.split("=", 1) for a in sys.argv[1:])
FOLDER, NAME, MODEL = args.get("folder", ".train"), args.get("name", "run"), args.get("model", "mini")
TEST = set(filter(None, args.get("test", "").split(",")))
EPOCHS, LR, SEED = int(args.get("epochs", 8)), float(args.get("lr", 6e-5)), int(args.get("seed", 1))
SHARP = 20.0  # cosines are multiplied by this before they compete
setup(FOLDER, SEED, args.get("round") == "1")

data = json.load(gzip.open(os.path.join(FOLDER, "data.json.gz"), "rt"))
TEXTS = data["texts"]
whole = lambda t: [101, *tokens(t), 102]
for n in data["notes"]: n["texts"] = [(h + ": " if h else "") + t for h, t in n["lines"]]
out_of = lambda n: n["name"] in TEST or n["name"].split("-")[0] in TEST
notes = [n for n in data["notes"] if not out_of(n)]


def vectors(net, texts, size=512):
    net.eval(); seqs = [whole(t) for t in texts]
    order = sorted(range(len(seqs)), key=lambda i: len(seqs[i])); out = [None] * len(seqs)
    with torch.no_grad(), torch.autocast(DEVICE, dtype=torch.bfloat16):
        for i in range(0, len(order), size):
            at = order[i : i + size]
            for j, v in zip(at, F.normalize(net.vector(*batch([seqs[j] for j in at])).float(), dim=-1)): out[j] = v
    net.train()
    return torch.stack(out)


def report(net):
    r = {}
    for kind in ("qs", "ps"):
        ranks = []
        for n in data["notes"]:
            asked = [p for p in n[kind] if p["g"]]
            if not out_of(n) or not asked: continue
            sim = vectors(net, [p["q"] for p in asked]) @ vectors(net, n["texts"]).T
            for p, s in zip(asked, sim.cpu().numpy()):
                order = [i for i in np.argsort(-s) if i not in p["s"]]
                ranks.append(min(order.index(g) for g in p["g"]))
        if ranks: r[kind] = {"n": len(ranks)} | {f"@{k}": round(float(np.mean(np.array(ranks) < k)), 3) for k in (1, 3, 8, 24, 48)}
    return r


net = (Teacher() if MODEL == "mpnet" else Near().load(reader().near)).to(DEVICE)
old = Near().load(reader().near).to(DEVICE)
if TEST and MODEL != "mpnet": print(NAME, "old", json.dumps(report(old)), flush=True)
elif TEST: print(NAME, "as published", json.dumps(report(net)), flush=True)
keep = TEXTS[:8000]
kept = vectors(old, keep).cpu()
asked = [(n, kind, k) for n in notes for kind in ("qs", "ps") for k in range(len(n[kind]))]
soft = None
if args.get("teachers"):
    z = [np.load(f) for f in args["teachers"].split(",")]
    soft = {a: np.mean([one[f"{n['name']}/{kind}/{k}"] for one in z], 0) for a in range(len(asked)) for n, kind, k in [asked[a]]}
parameters = [p for p in net.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(parameters, lr=LR, weight_decay=0.01)


def loss_of(kind, items):
    if kind == "keep":
        v = F.normalize(net.vector(*batch([whole(keep[i]) for i in items])).float(), dim=-1)
        return 3 * (1 - (v * kept[items].to(DEVICE)).sum(-1)).mean()
    # Each message competes for its lines against others of its memory and against those of the other messages.
    questions, texts, groups = [], [], []
    for a in items:
        n, which, k = asked[a]; p = n[which][k]; bad = set(p["g"]) | set(p["s"])
        if soft is not None: order = [int(i) for i in np.argsort(-soft[a])[:24]]
        else: order = [int(i) for i in p.get("hard", range(len(n["texts"])))][:24]
        chosen = random.sample(order, min(7, len(order))) + random.sample(range(len(n["texts"])), 2)
        right = random.choice(p["g"]) if p["g"] else None
        chosen = ([right] if p["g"] else []) + [i for i in dict.fromkeys(chosen) if i not in bad or (soft is not None and i != right and i not in p["g"])]
        questions.append(whole(p["q"])); groups.append((a, len(texts), chosen, bool(p["g"]), p)); texts += [whole(n["texts"][i]) for i in chosen]
    q = F.normalize(net.vector(*batch(questions)).float(), dim=-1); t = F.normalize(net.vector(*batch(texts)).float(), dim=-1)
    all_scores = q @ t.T * SHARP
    total = []
    for row, (a, start, chosen, has, p) in enumerate(groups):
        if has:
            # Lines of the same memory that also help, or are outdated, are no wrong answers.
            wrong = [c for c, i in enumerate(chosen) if c and i in set(p["g"]) | set(p["s"])]
            scores = all_scores[row].clone()
            if wrong: scores[[start + c for c in wrong]] = -1e4
            total.append(F.cross_entropy(scores[None], torch.tensor([start], device=DEVICE)))
        if soft is not None:
            mine = all_scores[row, start : start + len(chosen)].log_softmax(-1)
            theirs = torch.tensor(soft[a][chosen] * SHARP, device=DEVICE).softmax(-1)
            total.append(2 * F.kl_div(mine, theirs, reduction="sum"))
    return torch.stack(total).sum() / len(groups)


def batches():
    out = []
    items = [a for a in range(len(asked)) if soft is not None or asked[a][0][asked[a][1]][asked[a][2]]["g"]]
    random.shuffle(items); out += [("ask", items[i : i + 32]) for i in range(0, len(items), 32)]
    if MODEL != "mpnet":
        k = random.sample(range(len(keep)), min(3000, len(keep))); out += [("keep", k[i : i + 96]) for i in range(0, len(k), 96)]
    random.shuffle(out)
    return out


def find_hard():
    for n in notes:
        t = vectors(net, n["texts"])
        for kind in ("qs", "ps"):
            if n[kind]:
                for p, s in zip(n[kind], (vectors(net, [p["q"] for p in n[kind]]) @ t.T).cpu().numpy()): p["hard"] = [int(i) for i in np.argsort(-s)]


steps, step, start = EPOCHS * len(batches()), 0, time.time()
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1, (s + 1) / (0.08 * steps)) * max(0.02, 1 - s / steps))
shadow = {k: v.detach().clone() for k, v in net.state_dict().items()}
for epoch in range(EPOCHS):
    if soft is None: find_hard()
    net.train(); seen = {}
    for kind, items in batches():
        with torch.autocast(DEVICE, dtype=torch.bfloat16): loss = loss_of(kind, items)
        optimizer.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(parameters, 1.0); optimizer.step(); schedule.step(); step += 1
        decay = min(0.99, (1 + step) / (10 + step))
        with torch.no_grad():
            for k, v in net.state_dict().items():
                if v.dtype.is_floating_point: shadow[k].mul_(decay).add_(v, alpha=1 - decay)
        seen.setdefault(kind, []).append(loss.detach())
    print(NAME, epoch + 1, {k: round(float(torch.stack(v).mean()), 3) for k, v in seen.items()}, round(time.time() - start), "s", flush=True)
net.load_state_dict(shadow)
if TEST: print(NAME, "new", json.dumps(report(net)), flush=True)
if args.get("soft"):
    out = {}
    for n in notes:
        t = vectors(net, n["texts"])
        for kind in ("qs", "ps"):
            if n[kind]:
                for k, s in enumerate((vectors(net, [p["q"] for p in n[kind]]) @ t.T).cpu().numpy()): out[f"{n['name']}/{kind}/{k}"] = s
    np.savez(args["soft"], **out)
if args.get("out"):
    out = {}
    for k, v in net.state_dict().items():
        if k.startswith("layers") and v.ndim == 2:
            codes, scale = in_four_bits(v)
            out[k], out[k + ".s"] = codes.to(torch.int8).view_as(v).cpu().numpy(), scale[..., 0].half().cpu().numpy()
        elif k.startswith("layers"):
            out[k] = v.float().cpu().numpy()
    np.savez_compressed(args["out"], **out)
