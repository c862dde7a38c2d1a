"""Trains the layers of the compiled-in reader that judge two texts: KEY=VALUE ...; training/README.md has the calls.

FOLDER (`folder=`) is made by gather_judge.py. `model=mpnet` trains a teacher from `teacher.npz` (pack_teacher.py); otherwise the token rows come from
crates/nacre/model/reader.bin and the first weights from `mini.npz`, or from the reader with `init=reader`.

A teacher writes what it thinks of every comparison (`soft=FILE`); students learn from the means of several (`teachers=A,B`), beside the labels.
`nli=EPOCHS` trains on `nli.jsonl.gz` first, if the folder has it. `test=A,B` leaves sets out and reports on them. `round=1` trains for weights in 4 bits.
`share=` takes a part of each epoch, for a machine without a GPU. `out=FILE` has the weights of a student, in 4 bits, for pack_reader.py.
"""
import gzip, json, os, random, sys, time
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from judge_net import CLS, DEVICE, SEP, Judge, Near, Teacher, batch, exactly, in_four_bits, pair, reader, setup, tokens

args = dict(a.split("=", 1) for a in sys.argv[1:])
FOLDER, NAME, MODEL = args.get("folder", ".train"), args.get("name", "run"), args.get("model", "mini")
TEST = set(filter(None, args.get("test", "").split(",")))
EPOCHS, LR, SEED = int(args.get("epochs", 8)), float(args.get("lr", 6e-5)), int(args.get("seed", 1))
WORLD = float(args.get("world", 1.0))  # weight of the pairs of memories
SOFT = float(args.get("softly", 2.0))  # weight of what the teachers think
LABELS = {"contradicting": 1, "updating": 2, "compatible": 0, "unrelated": 0}
CONFLICT, LASTS, HELPS = slice(0, 3), 3, 4
setup(FOLDER, SEED, args.get("round") == "1")

def heads(net, seqs):
    return net.heads(net.vector(*batch(seqs))).float()


def judge(net, pairs, size=512):
    net.eval(); seqs = [pair(a, b) for a, b in pairs]
    order = sorted(range(len(seqs)), key=lambda i: len(seqs[i])); out = np.zeros((len(seqs), 5), np.float32)
    with torch.no_grad(), torch.autocast(DEVICE, dtype=torch.bfloat16):
        for i in range(0, len(order), size):
            at = order[i : i + size]
            out[at] = heads(net, [seqs[j] for j in at]).cpu().numpy()
    net.train()
    return out


def shares(o):
    """The share of the two heads of conflict, as in `index/reader.rs`."""
    return torch.tensor(o[:, CONFLICT]).softmax(-1)[:, 1:].sum(-1).numpy()


def conflict_odds(net, pairs):
    p = np.clip((shares(judge(net, pairs)) + shares(judge(net, [(b, a) for a, b in pairs]))) / 2, 1e-6, 1 - 1e-6)
    return np.log(p / (1 - p))


data = json.load(gzip.open(os.path.join(FOLDER, "data.json.gz"), "rt"))
TEXTS = data["texts"]


def light(texts):
    """Vectors from the words' rows alone: which texts the program would compare."""
    rows = reader().rows - reader().rows.mean(0)
    common = {}
    for t in texts:
        for i in set(tokens(t)): common[i] = common.get(i, 0) + 1
    v = np.stack([sum((rows[i] * (0.02 / (0.02 + common[i] / len(texts))) for i in tokens(t)), np.zeros(384)) for t in texts])
    return (v / (np.linalg.norm(v, axis=1, keepdims=True) + 1e-9)).astype(np.float32)


train_pairs = [p for p in data["pairs"] if p["s"] not in TEST]
for w in data["worlds"]:
    v = light(w["t"]); w["near"] = v @ v.T; w["bad"] = {(i, j) for i, j, _ in w["c"]}
train_worlds = [w for w in data["worlds"] if w["s"] not in TEST]
near_net = Near().load(reader().near).to(DEVICE)


def near_vectors(texts):
    with torch.no_grad():
        parts = [texts[i : i + 256] for i in range(0, len(texts), 256)]
        vector = lambda part: near_net.eval().vector(*batch([[CLS, *tokens(t), SEP] for t in part]))
        return torch.cat([F.normalize(exactly(lambda: vector(part)), dim=-1) for part in parts])


for n in data["notes"]:
    n["texts"] = [(h + ": " if h else "") + t for h, t in n["lines"]]
    if n["ps"]:
        # The lines that the program would read: those that the reader's vectors find, and some that words find.
        asked_texts = [p["q"] for p in n["ps"]]
        v = light(n["texts"] + asked_texts); by_words = v[len(n["texts"]):] @ v[: len(n["texts"])].T
        by_meaning = (near_vectors(asked_texts) @ near_vectors(n["texts"]).T).cpu().numpy()
        for p, words, meaning in zip(n["ps"], by_words, by_meaning):
            p["near"] = [int(i) for i in dict.fromkeys([*np.argsort(-meaning)[:30], *np.argsort(-words)[:15]])]
notes = [n for n in data["notes"] if n["name"].split("-")[0] not in TEST and n["name"] not in TEST]


def near_pairs(w, most=12):
    count = len(w["t"])
    return sorted({(min(i, int(j)), max(i, int(j))) for i in range(count) for j in np.argsort(-w["near"][i])[1 : most + 1]} | w["bad"])


def comparisons():
    """Pairs of statements that a teacher judges: the labelled ones, the near ones of each memory, of different pairs and of what people say of themselves."""
    out = [(p["a"], p["b"]) for p in train_pairs]
    for w in train_worlds: out += [(w["t"][i], w["t"][j]) for i, j in near_pairs(w)]
    for texts in (sorted({t for p in train_pairs for t in (p["a"], p["b"])}), data["alone"]):
        v = light(texts)
        for i in range(0, len(texts), 1000):
            for k, row in enumerate(np.argsort(-(v[i : i + 1000] @ v.T))[:, 1:3]): out += [(texts[i + k], texts[int(j)]) for j in row]
    path = os.path.join(FOLDER, "nli.jsonl.gz")
    if os.path.exists(path):
        lines = list(gzip.open(path, "rt"))[:: 4]
        out += [(x["a"], x["b"]) for x in map(json.loads, lines)]
    return list(dict.fromkeys(out))


def askings():
    """Messages with statements that a teacher judges."""
    out = [(p["q"], n["texts"][i]) for n in notes for p in n["ps"] for i in dict.fromkeys(p["near"][:20] + p["g"])]
    dice = random.Random(7)
    memories = [n["texts"] for n in notes]
    asked = [p["q"] for n in notes for p in n["ps"]]
    for q in asked: out += [(q, t) for t in dice.sample(dice.choice(memories), 3)]
    return list(dict.fromkeys(out))


def sentences():
    """Sentences of which a teacher says whether they last."""
    return TEXTS[:6000] + data["alone"][:6000] + [t for w in train_worlds for t in w["t"]]


def world_pairs():
    """Conflicts of each memory, and pairs that do not conflict: for each statement two of its near ones, one of any, and those that the
    model takes for conflicts most."""
    out = []
    for w in train_worlds:
        count = len(w["t"])
        for i, j, k in w["c"]: out.append((w["t"][i], w["t"][j], LABELS[k]))
        for i in range(count):
            near = [int(j) for j in np.argsort(-w["near"][i])[1:21] if (min(i, j), max(i, j)) not in w["bad"]]
            for j in random.sample(near, min(2, len(near))) + [random.randrange(count)]:
                i1, j1 = min(i, j), max(i, j)
                if i1 != j1 and (i1, j1) not in w["bad"]: out.append((w["t"][i1], w["t"][j1], 0))
        for i, j in w.get("hard", []): out.append((w["t"][i], w["t"][j], 0))
    return out


def find_hard(net):
    """Notes what the model is most wrong about: pairs of a memory that are no conflicts, and statements that do not help."""
    for w in train_worlds:
        all_pairs = [p for p in near_pairs(w, 25) if p not in w["bad"]]
        p = shares(judge(net, [(w["t"][i], w["t"][j]) for i, j in all_pairs]))
        w["hard"] = [all_pairs[k] for k in np.argsort(-p)[: len(w["t"])] if p[k] > 0.2]
    asked = [(p, n["texts"][i], i) for n in notes for p in n["ps"] for i in p["near"][:30] if i not in p["g"] and i not in p["s"]]
    for p, _, _ in asked: p["hard"] = []
    for (p, _, i), odds in zip(asked, judge(net, [(p["q"], t) for p, t, _ in asked])[:, HELPS]):
        if odds > -2: p["hard"].append((float(odds), i))
    for p, _, _ in asked: p["hard"] = sorted(p["hard"])[-4:]


def precision_and_recall(s, y, at):
    o = np.argsort(-s); t = np.cumsum(y[o]); precision = t / np.arange(1, len(o) + 1); recall = t / y.sum()
    r = {f"R@P{x}": round(float(max([b for a, b in zip(precision, recall) if a >= x], default=0)), 3) for x in (0.98, 0.95, 0.9, 0.8)}
    return r | {f">{x}": (round(float(y[s > x].mean()), 3) if (s > x).any() else 0, round(float((s > x)[y].mean()), 3)) for x in at}


def report(net):
    r = {}
    tp = [p for p in data["pairs"] if p["s"] in TEST]
    if tp:
        s = conflict_odds(net, [(p["a"], p["b"]) for p in tp]); y = np.array([LABELS[p["l"]] > 0 for p in tp])
        r["pairs"] = {"n": len(tp)} | precision_and_recall(s, y, (0, 1, 2, 3))
    tw = [w for w in data["worlds"] if w["s"] in TEST]
    if tw:
        P = [near_pairs(w) for w in tw]
        s = np.concatenate([conflict_odds(net, [(w["t"][i], w["t"][j]) for i, j in p]) for w, p in zip(tw, P)])
        y = np.array([p in w["bad"] for w, ps in zip(tw, P) for p in ps])
        r["worlds"] = {"n": len(y), "bad": int(y.sum())} | precision_and_recall(s, y, (1, 2, 3, 4))
        if args.get("show"):
            all_pairs = [(w["t"][i], w["t"][j]) for w, ps in zip(tw, P) for i, j in ps]
            for k in [k for k in np.argsort(-s) if not y[k]][: int(args["show"])]: print("FALSE", round(float(s[k]), 2), all_pairs[k])
    told = [x for x in data["lasting"] if x["s"] in TEST]
    if told: r["lasts"] = {"n": len(told)} | precision_and_recall(judge(net, [("", x["b"]) for x in told])[:, LASTS], np.array([x["l"] == "keep" for x in told]), (1, 2, 3))
    best, none, right = [], [], []
    for n in data["notes"]:
        if (n["name"] in TEST or n["name"].split("-")[0] in TEST) and n["ps"]:
            for p in n["ps"]:
                near = p["near"][:8]
                h = judge(net, [(p["q"], n["texts"][i]) for i in near])[:, HELPS]
                if p["g"]: best.append(max(h)); right.append(near[int(np.argmax(h))] in p["g"])
                else: none.append(max(h))
    if none and best:
        best, none, right = np.array(best), np.array(none), np.array(right)
        line = np.quantile(none, 0.95)
        r["helps"] = dict(n=len(best), none=len(none), right=round(float(right.mean()), 3), line=round(float(line), 2),
                          right_silent95=round(float((right & (best > line)).mean()), 3), wrong=round(float((~right & (best > line)).mean()), 3))
    return r


net = {"mini": lambda: Judge().published() if args.get("init", "mini") == "mini" else Judge().load(reader().judge).load_heads(), "mpnet": Teacher}[MODEL]().to(DEVICE)
old = Judge().load(reader().judge).load_heads().to(DEVICE)
if TEST and args.get("old"): print(NAME, "old", json.dumps(exactly(lambda: report(old))), flush=True)

# What the present reader says of sentences, whether they last, is kept in part: it learned from other conversations.
spoken = sentences()
present = exactly(lambda: judge(old, [("", t) for t in spoken])[:, LASTS])
lasting = [x for x in data["lasting"] if x["s"] not in TEST]
del old

compared, asked, soft = [], [], None
if args.get("soft") or args.get("teachers"):
    compared, asked = comparisons(), askings()
if args.get("teachers"):
    z = [np.load(f) for f in args["teachers"].split(",")]
    soft = {k: np.mean([one[k] for one in z], 0) for k in ("compared", "asked", "spoken")}
    soft["compared"] = soft["compared"][: len(compared)]  # pairs of nli.jsonl.gz come last, and may be missing
    assert [len(soft[k]) for k in soft] == [len(compared), len(asked), len(spoken)], ([len(soft[k]) for k in soft], len(compared), len(asked), len(spoken))
    helping = {(p["q"], n["texts"][i]) for n in notes for p in n["ps"] for i in p["g"]}
    means = [float(np.mean([v for pair_, v in zip(asked, soft["asked"]) if (pair_ in helping) == right])) for right in (True, False)]
    print(NAME, "the teachers say of what helps, and of the rest", means)
    assert means[0] > means[1] + 0.3


def batches(nli):
    out = []
    chunk = lambda kind, items, size: out.extend((kind, items[i : i + size]) for i in range(0, len(items), size))
    if nli: random.shuffle(nli); chunk("nli", nli, 96)
    else:
        p = [(x["a"], x["b"], LABELS[x["l"]]) for x in train_pairs]
        p += [(x["a"], random.choice(train_pairs)["b"], 0) for x in random.sample(train_pairs, len(train_pairs) // 5)]
        random.shuffle(p); chunk("pair", p, 64)
        w = world_pairs(); random.shuffle(w); chunk("world", w, 96)
        h = [(n, p) for n in notes for p in n["ps"]]; random.shuffle(h); chunk("helps", h, 16)
        random.shuffle(lasting); chunk("lasts", lasting, 32)
        k = random.sample(range(len(spoken)), min(3000, len(spoken))); chunk("present", k, 96)
        if soft is not None:
            k = list(range(len(spoken))); random.shuffle(k); chunk("spoken", k[:6000], 96)
            k = list(range(len(compared))); random.shuffle(k); chunk("soft", k[: int(args.get("softs", 16000))], 96)
            k = list(range(len(asked))); random.shuffle(k); chunk("asked", k[: int(args.get("softs", 16000))], 96)
    random.shuffle(out)
    return out


def loss_of(kind, items):
    tensor = lambda a: torch.tensor(np.asarray(a), device=DEVICE)
    if kind == "nli":
        return F.cross_entropy(net.nli(net.vector(*batch([pair(a, b) for a, b, _ in items]))).float(), tensor([l for *_, l in items]))
    if kind in ("pair", "world"):
        seqs, y = [], []
        for a, b, label in items:
            if random.random() < 0.5: a, b, label = b, a, min(label, 1)
            seqs.append(pair(a, b)); y.append(label)
        return F.cross_entropy(heads(net, seqs)[:, CONFLICT], tensor(y), label_smoothing=0.03) * (WORLD if kind == "world" else 1.0)
    if kind == "soft":
        seqs = [pair(*(compared[i][::-1] if random.random() < 0.5 else compared[i])) for i in items]
        p = heads(net, seqs)[:, CONFLICT].log_softmax(-1)
        target = tensor(soft["compared"][items])
        return SOFT * F.kl_div(torch.stack([p[:, 0], torch.logsumexp(p[:, 1:], 1)], 1), torch.stack([1 - target, target], 1), reduction="batchmean")
    if kind == "asked":
        return SOFT * F.binary_cross_entropy_with_logits(heads(net, [pair(*asked[i]) for i in items])[:, HELPS], tensor(soft["asked"][items]))
    if kind == "present":
        return F.mse_loss(heads(net, [pair("", spoken[i]) for i in items])[:, LASTS], tensor(present[items])) * 0.05
    if kind == "spoken":
        return F.binary_cross_entropy_with_logits(heads(net, [pair("", spoken[i]) for i in items])[:, LASTS], tensor(soft["spoken"][items]))
    if kind == "lasts":
        seqs = [pair(x["a"] if random.random() < 0.3 else "", x["b"]) for x in items]
        y = tensor(np.float32([x["l"] == "keep" for x in items]))
        return F.binary_cross_entropy_with_logits(heads(net, seqs)[:, LASTS], y * 0.94 + 0.03)
    seqs, y = [], []
    for n, p in items:
        bad = set(p["g"]) | set(p["s"])
        for g in p["g"][:3]: seqs.append(pair(p["q"], n["texts"][g])); y.append(1.0)
        near = [i for i in p["near"][:16] if i not in bad]
        chosen = random.sample(near, min(3, len(near))) + [random.randrange(len(n["texts"]))] + [i for _, i in p.get("hard", [])]
        for i in chosen:
            if i not in bad: seqs.append(pair(p["q"], n["texts"][i])); y.append(0.0)
    y = tensor(np.float32(y))
    return F.binary_cross_entropy_with_logits(heads(net, seqs)[:, HELPS], y * 0.94 + 0.03, pos_weight=tensor(2.0))


start = time.time()


def train(epochs, lr, nli=None):
    groups = [{"params": [p for k, p in net.named_parameters() if not k.startswith(("heads", "nli"))], "lr": lr},
              {"params": [p for k, p in net.named_parameters() if k.startswith(("heads", "nli"))], "lr": lr * 5}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    share = float(args.get("share", 1))
    step, steps = 0, int(epochs * len(batches(nli)) * share * (1.0 if nli else 1.15))  # what was hard makes later epochs longer
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1, (s + 1) / (0.08 * steps)) * max(0.02, 1 - s / steps))
    shadow = {k: v.detach().clone() for k, v in net.state_dict().items()}
    for epoch in range(epochs):
        seen = {}
        if not nli and epoch in (2, 4, 6): find_hard(net)
        net.train()
        todo = batches(nli)
        for kind, items in todo[: int(share * len(todo))]:
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                loss = loss_of(kind, items)
            optimizer.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(), 1.0); optimizer.step(); schedule.step(); step += 1
            decay = min(0.995, (1 + step) / (10 + step))
            with torch.no_grad():
                for k, v in net.state_dict().items():
                    if v.dtype.is_floating_point: shadow[k].mul_(decay).add_(v, alpha=1 - decay)
            seen.setdefault(kind, []).append(loss.detach())
        print(NAME, "nli" if nli else "", epoch + 1, {k: round(float(torch.stack(v).mean()), 3) for k, v in seen.items()}, round(time.time() - start), "s", flush=True)
        if args.get("out"): write(shadow)
    net.load_state_dict(shadow)


def write(state):
    out = {}
    for k, v in state.items():
        if k.startswith("layers") and v.ndim == 2:
            codes, scale = in_four_bits(v)
            out[k], out[k + ".s"] = codes.to(torch.int8).view_as(v).cpu().numpy(), scale[..., 0].half().cpu().numpy()
        elif k.startswith(("layers", "heads")):
            out[k] = v.float().cpu().numpy()
    np.savez_compressed(args["out"], **out)


if int(args.get("nli", 0)):
    kinds = {"entailment": 0, "contradiction": 1, "neutral": 2}
    nli = [json.loads(line) for line in gzip.open(os.path.join(FOLDER, "nli.jsonl.gz"), "rt")]
    train(int(args["nli"]), 2e-5 if MODEL == "mpnet" else 6e-5, [(x["a"], x["b"], kinds[x["l"]]) for x in nli])
    # A contradiction of nli is where the heads of conflict begin.
    with torch.no_grad():
        net.heads.weight[0:3].copy_(torch.stack([net.nli.weight[0] + net.nli.weight[2], 2 * net.nli.weight[1], 2 * net.nli.weight[1]]) / 2)
train(EPOCHS, LR)
if TEST: print(NAME, "new", json.dumps(report(net)), flush=True)
if args.get("soft"):
    p = (shares(judge(net, compared)) + shares(judge(net, [(b, a) for a, b in compared]))) / 2
    np.savez(args["soft"], compared=p.astype(np.float32), asked=torch.tensor(judge(net, asked)[:, HELPS]).sigmoid().numpy(),
             spoken=torch.tensor(judge(net, [("", t) for t in spoken])[:, LASTS]).sigmoid().numpy())
    print(NAME, "judged", len(compared), len(asked), round(time.time() - start), "s", flush=True)
if args.get("save"): torch.save(net.state_dict(), args["save"])
