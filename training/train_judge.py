"""Trains the layers of the compiled-in reader that judge two texts: KEY=VALUE ...; training/README.md has the calls.

The token rows and, unless `init=mini`, the first weights come from crates/nacre/model/reader.bin. FOLDER has `vocab.txt` (the published
vocabulary), `data.json.gz` and, for `init=mini`, `mini.npz` (the published layers, in 8 bits). `data.json.gz` has

- pairs: {a, b, l, s}: two statements, a label (contradicting, updating, compatible, unrelated), the name of the set;
- worlds: {s, t, c}: the statements of one memory in order of time, and which of them conflict: [place, place, label];
- notes: {name, lines: [[heading, line]], ps: [{q, g, s}]}: messages with the lines that help (g) or are outdated (s);
- texts: ordinary sentences. What the reader in the repository says of them, whether they last or help, is learned from it.

`round=1` trains for weights in 4 bits. `test=A,B` leaves sets out and reports on them. `out=FILE` has the weights, in 4 bits, for pack_judge.py.
"""
import functools, gzip, json, os, random, sys, time
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from tokenizers import BertWordPieceTokenizer
from reader_file import ReaderFile

args = dict(a.split("=", 1) for a in sys.argv[1:])
FOLDER = args.get("folder", ".train")
NAME = args.get("name", "run")
TEST = set(filter(None, args.get("test", "").split(",")))
EPOCHS, LR, SEED = int(args.get("epochs", 8)), float(args.get("lr", 6e-5)), int(args.get("seed", 1))
WORLD = float(args.get("world", 1.0))  # weight of the pairs of worlds
LABELS = {"contradicting": 1, "updating": 2, "compatible": 0, "unrelated": 0}
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

reader = ReaderFile("crates/nacre/model/reader.bin")
tokenizer = BertWordPieceTokenizer(os.path.join(FOLDER, "vocab.txt"), lowercase=True)
CLS, SEP = 101, 102


@functools.lru_cache(maxsize=None)
def tokens(text, most=62):
    return tokenizer.encode(text[:600], add_special_tokens=False).ids[:most]


def pair(a, b):
    return [CLS] + tokens(a) + [SEP] + tokens(b) + [SEP]


def in_four_bits(w):
    """The weights as the reader's file has them: of every 32, the largest is -8 times their scale."""
    g = w.view(w.shape[0], -1, 32)
    top = g.gather(2, g.abs().argmax(2, keepdim=True))
    scale = (top / -8).half().float()
    scale = torch.where(scale == 0, torch.full_like(scale, 1e-4), scale)
    return ((g / scale).round().clamp(-8, 7) * scale).view_as(w)


ROUND = args.get("round") == "1"


def linear(layer, x):
    """Multiplies by rounded weights while the gradient passes as if they were not, so that training allows for the rounding."""
    w = layer.weight
    return F.linear(x, w + (in_four_bits(w) - w).detach() if ROUND else w, layer.bias)


class Layer(nn.Module):
    def __init__(self, dims=384, inner=1536):
        super().__init__()
        self.qkv, self.out = nn.Linear(dims, 3 * dims), nn.Linear(dims, dims)
        self.wide, self.narrow = nn.Linear(dims, inner), nn.Linear(inner, dims)
        self.n1, self.n2 = nn.LayerNorm(dims, eps=1e-12), nn.LayerNorm(dims, eps=1e-12)

    def forward(self, x, mask, drop):
        b, n, d = x.shape
        q, k, v = linear(self.qkv, x).view(b, n, 3, 12, 32).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=drop)
        x = self.n1(x + F.dropout(linear(self.out, a.transpose(1, 2).reshape(b, n, d)), drop))
        return self.n2(x + F.dropout(linear(self.narrow, F.gelu(linear(self.wide, x))), drop))


class Judge(nn.Module):
    def __init__(self, count=6):
        super().__init__()
        as_buffer = lambda a: torch.tensor(a)
        self.register_buffer("rows", as_buffer(reader.rows)); self.register_buffer("places", as_buffer(reader.places))
        self.register_buffer("gain", as_buffer(reader.norm[0])); self.register_buffer("bias", as_buffer(reader.norm[1]))
        self.layers = nn.ModuleList(Layer() for _ in range(count))
        self.heads = nn.Linear(384, 5)

    def forward(self, ids, mask):
        drop = 0.1 if self.training else 0.0
        x = F.layer_norm(self.rows[ids] + self.places[: ids.shape[1]], (384,), self.gain, self.bias, 1e-12)
        x = F.dropout(x, drop)
        wide = mask[:, None, None, :].bool()
        for layer in self.layers:
            x = layer(x, wide, drop)
        m = mask[..., None].to(x.dtype)
        v = (x * m).sum(1) / m.sum(1)
        return self.heads(F.dropout(v, drop)).float()

    def load(self, layers, heads=None):
        t = lambda a: torch.tensor(np.asarray(a, np.float32))
        with torch.no_grad():
            for mine, l in zip(self.layers, layers):
                for part in ("qkv", "out", "wide", "narrow"):
                    getattr(mine, part).weight.copy_(t(l[part])); getattr(mine, part).bias.copy_(t(l[part + "_b"]))
                for part in ("n1", "n2"):
                    getattr(mine, part).weight.copy_(t(l[part][0])); getattr(mine, part).bias.copy_(t(l[part][1]))
            if heads is not None:
                self.heads.weight.copy_(t(heads[0])); self.heads.bias.copy_(t(heads[1]))
        return self


def published():
    z = np.load(os.path.join(FOLDER, "mini.npz"))
    def get(k):
        w = z[k].astype(np.float32)
        return w * z[k + ".s"].astype(np.float32) if k + ".s" in z.files else w
    out = []
    for i in range(6):
        g = lambda k: get(f"layer.{i}.{k}")
        a = "attention.self."
        out.append({
            "qkv": np.concatenate([g(a + p + ".weight") for p in ("query", "key", "value")]),
            "qkv_b": np.concatenate([g(a + p + ".bias") for p in ("query", "key", "value")]),
            "out": g("attention.output.dense.weight"), "out_b": g("attention.output.dense.bias"),
            "n1": [g("attention.output.LayerNorm.weight"), g("attention.output.LayerNorm.bias")],
            "wide": g("intermediate.dense.weight"), "wide_b": g("intermediate.dense.bias"),
            "narrow": g("output.dense.weight"), "narrow_b": g("output.dense.bias"),
            "n2": [g("output.LayerNorm.weight"), g("output.LayerNorm.bias")]})
    return out


def batch(seqs):
    n = max(map(len, seqs))
    ids = torch.zeros(len(seqs), n, dtype=torch.long); mask = torch.zeros(len(seqs), n, dtype=torch.long)
    for i, s in enumerate(seqs):
        ids[i, : len(s)] = torch.tensor(s); mask[i, : len(s)] = 1
    return ids.to(DEVICE), mask.to(DEVICE)


def judge(net, seqs, size=1024):
    net.eval(); order = sorted(range(len(seqs)), key=lambda i: len(seqs[i])); out = np.zeros((len(seqs), 5), np.float32)
    with torch.no_grad(), torch.autocast(DEVICE, dtype=torch.bfloat16):
        for i in range(0, len(order), size):
            at = order[i : i + size]
            out[at] = net(*batch([seqs[j] for j in at])).cpu().numpy()
    return out


def conflict_odds(net, pairs):
    """The mean over both orders of the share of the two heads of conflict, as in `index/reader.rs`."""
    share = lambda o: torch.tensor(o[:, :3]).softmax(-1)[:, 1:].sum(-1).numpy()
    p = (share(judge(net, [pair(a, b) for a, b in pairs])) + share(judge(net, [pair(b, a) for a, b in pairs]))) / 2
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(p / (1 - p))


data = json.load(gzip.open(os.path.join(FOLDER, "data.json.gz"), "rt"))
old = Judge().load(reader.judge, (reader.heads, reader.biases)).to(DEVICE)

# Nearness by words' rows: which pairs of a memory the program would compare.
def light(texts):
    rows = reader.rows - reader.rows.mean(0)
    common = {}
    for t in texts:
        for i in set(tokens(t)): common[i] = common.get(i, 0) + 1
    v = np.stack([sum((rows[i] * (0.02 / (0.02 + common[i] / len(texts))) for i in tokens(t)), np.zeros(384)) for t in texts])
    return v / (np.linalg.norm(v, axis=1, keepdims=True) + 1e-9)

train_pairs = [p for p in data["pairs"] if p["s"] not in TEST]
train_worlds = [w for w in data["worlds"] if w["s"] not in TEST]
for w in data["worlds"]:
    v = light(w["t"]); w["near"] = v @ v.T; w["bad"] = {(i, j) for i, j, _ in w["c"]}
all_statements = [t for w in train_worlds for t in w["t"]]
notes = [n for n in data["notes"] if n["name"] not in TEST]
for n in notes:
    n["texts"] = [(h + ": " if h else "") + t for h, t in n["lines"]]
    if n["ps"]:
        v = light(n["texts"] + [p["q"] for p in n["ps"]]); n["sim"] = v[len(n["texts"]):] @ v[: len(n["texts"])].T


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
    """Notes the pairs of each memory that are taken for conflicts most, and are none."""
    for w in train_worlds:
        all_pairs = [(i, j) for i in range(len(w["t"])) for j in range(i + 1, len(w["t"])) if (i, j) not in w["bad"]]
        s = judge(net, [pair(w["t"][i], w["t"][j]) for i, j in all_pairs], size=4096)
        p = torch.tensor(s[:, :3]).softmax(-1)[:, 1:].sum(-1).numpy()
        w["hard"] = [all_pairs[k] for k in np.argsort(-p)[: len(w["t"])] if p[k] > 0.2]


# What the present reader says: lasts, helps.
TEXTS = data["texts"]
keep_in = [("" if random.random() < 0.4 else TEXTS[random.randrange(len(TEXTS))], t) for t in TEXTS[:8000] + all_statements[:4000]]
help_in = []
for n in notes:
    for k, p in enumerate(n["ps"]):
        for i in list(np.argsort(-n["sim"][k])[:8]) + [random.randrange(len(n["texts"])) for _ in range(4)]:
            help_in.append((p["q"], n["texts"][int(i)]))
for t in TEXTS[8000:12000]:
    help_in.append((t, random.choice(all_statements)))
keep_old = judge(old, [pair(a, b) for a, b in keep_in])[:, 3]
help_old = judge(old, [pair(a, b) for a, b in help_in])[:, 4]

sharp_in, sharp = [], None
if args.get("teachers"):
    # The mean of several trained judges on everything that is compared: their doubts teach more than the labels alone.
    sharp_in = [(p["a"], p["b"]) for p in train_pairs]
    for w in train_worlds:
        seen = set()
        for i in range(len(w["t"])):
            for j in np.argsort(-w["near"][i])[1:13]:
                seen.add((min(i, int(j)), max(i, int(j))))
        sharp_in += [(w["t"][i], w["t"][j]) for i, j in sorted(seen | w["bad"])]
    total = 0
    for f in args["teachers"].split(","):
        net = Judge().to(DEVICE); net.load_state_dict(torch.load(f, map_location=DEVICE))
        total = total + torch.tensor(judge(net, [pair(a, b) for a, b in sharp_in])[:, :3]).softmax(-1).numpy()
    sharp = total / len(args["teachers"].split(","))


def report(net):
    r = {}
    tp = [p for p in data["pairs"] if p["s"] in TEST]
    if tp:
        s = conflict_odds(net, [(p["a"], p["b"]) for p in tp]); y = np.array([LABELS[p["l"]] > 0 for p in tp])
        o = np.argsort(-s); t = np.cumsum(y[o]); precision = t / np.arange(1, len(o) + 1); recall = t / y.sum()
        r["pairs"] = {f"R@P{x}": round(float(max([b for a, b in zip(precision, recall) if a >= x], default=0)), 3) for x in (0.98, 0.95, 0.9)}
        r["pairs"] |= {f">{x}": (round(float(y[s > x].mean()), 3) if (s > x).any() else 0, round(float((s > x)[y].mean()), 3)) for x in (0, 1, 2, 3)}
    tw = [w for w in data["worlds"] if w["s"] in TEST]
    if tw:
        S, Y = [], []
        for w in tw:
            P = sorted({(min(i, int(j)), max(i, int(j))) for i in range(len(w["t"])) for j in np.argsort(-w["near"][i])[1:13]} | w["bad"])
            S.append(conflict_odds(net, [(w["t"][i], w["t"][j]) for i, j in P])); Y.append([p in w["bad"] for p in P])
        s, y = np.concatenate(S), np.concatenate(Y)
        o = np.argsort(-s); t = np.cumsum(y[o]); precision = t / np.arange(1, len(o) + 1); recall = t / y.sum()
        r["worlds"] = {"n": len(y), "bad": int(y.sum())} | {f"R@P{x}": round(float(max([b for a, b in zip(precision, recall) if a >= x], default=0)), 3) for x in (0.95, 0.9, 0.8)}
        r["worlds"] |= {f">{x}": (round(float(y[s > x].mean()), 3) if (s > x).any() else 0, round(float((s > x)[y].mean()), 3)) for x in (1, 2, 3)}
        if args.get("show"):
            P = [(w["t"][i], w["t"][j]) for w in tw for i, j in sorted({(min(i, int(j)), max(i, int(j))) for i in range(len(w["t"])) for j in np.argsort(-w["near"][i])[1:13]} | w["bad"])]
            for k in [k for k in o if not y[k]][: int(args["show"])]: print("FALSE", round(float(s[k]), 2), P[k])
    for n in data["notes"]:
        if n["name"] in TEST and n["ps"]:
            texts = [(h + ": " if h else "") + t for h, t in n["lines"]]
            v = light(texts + [p["q"] for p in n["ps"]]); sim = v[len(texts):] @ v[: len(texts)].T
            best, none, right = [], [], 0
            for k, p in enumerate(n["ps"]):
                c = [int(i) for i in np.argsort(-sim[k])[:12]] + [i for i in p["g"]]
                h = judge(net, [pair(p["q"], texts[i]) for i in c])[:, 4]
                if p["g"]: best.append(max(h)); right += c[int(np.argmax(h))] in p["g"]
                else: none.append(max(h))
            r["helps:" + n["name"]] = dict(n=len(best), right=right, auc=round(float(np.mean([a > b for a in best for b in none])), 3) if none else 0)
    return r


net = Judge().to(DEVICE)
if args.get("init", "old") == "old": net.load(reader.judge, (reader.heads, reader.biases))
else: net.load(published())
if TEST: print(NAME, "old", json.dumps(report(old)), flush=True)
groups = [{"params": net.layers.parameters(), "lr": LR}, {"params": net.heads.parameters(), "lr": LR * 5}]
optimizer = torch.optim.AdamW(groups, weight_decay=0.01)


def batches():
    out = []
    chunk = lambda kind, items, size: out.extend((kind, items[i : i + size]) for i in range(0, len(items), size))
    p = [(x["a"], x["b"], LABELS[x["l"]]) for x in train_pairs]
    for x in random.sample(train_pairs, len(train_pairs) // 5):
        p.append((x["a"], random.choice(train_pairs)["b"], 0))
    random.shuffle(p); chunk("pair", p, 64)
    w = world_pairs(); random.shuffle(w); chunk("world", w, 96)
    if sharp is not None:
        k = list(range(len(sharp_in))); random.shuffle(k); chunk("sharp", k[: int(args.get("sharps", 12000))], 96)
    k = random.sample(range(len(keep_in)), 3000); chunk("keep", k, 96)
    k = random.sample(range(len(help_in)), 3000); chunk("help", k, 96)
    h = [(n, i) for n in notes for i, p in enumerate(n["ps"])]; random.shuffle(h); chunk("helps", h, 24)
    random.shuffle(out)
    return out


def loss_of(kind, items):
    if kind in ("pair", "world"):
        seqs, y = [], []
        for a, b, label in items:
            if random.random() < 0.5: a, b, label = b, a, min(label, 1)
            seqs.append(pair(a, b)); y.append(label)
        loss = F.cross_entropy(net(*batch(seqs))[:, :3], torch.tensor(y, device=DEVICE), label_smoothing=0.03)
        return loss * (WORLD if kind == "world" else 1.0)
    if kind == "sharp":
        swap = [random.random() < 0.5 for _ in items]
        seqs = [pair(*(sharp_in[i][::-1] if s else sharp_in[i])) for i, s in zip(items, swap)]
        q = torch.tensor(sharp[items], device=DEVICE)
        p = net(*batch(seqs))[:, :3].log_softmax(-1)
        conflict = torch.stack([p[:, 0], torch.logsumexp(p[:, 1:], 1)], 1)
        target = torch.stack([q[:, 0], q[:, 1:].sum(1)], 1)
        return 2 * F.kl_div(conflict, target, reduction="batchmean")
    if kind == "keep":
        o = net(*batch([pair(*keep_in[i]) for i in items]))[:, 3]
        return F.mse_loss(o, torch.tensor(keep_old[items], device=DEVICE)) * 0.3
    if kind == "help":
        o = net(*batch([pair(*help_in[i]) for i in items]))[:, 4]
        return F.mse_loss(o, torch.tensor(help_old[items], device=DEVICE)) * 0.1
    seqs, y = [], []
    for n, k in items:
        p = n["ps"][k]; bad = set(p["g"]) | set(p["s"])
        for g in p["g"][:2]: seqs.append(pair(p["q"], n["texts"][g])); y.append(1.0)
        near = [int(i) for i in np.argsort(-n["sim"][k])[:14] if int(i) not in bad]
        for i in random.sample(near, min(3, len(near))) + [random.randrange(len(n["texts"]))]:
            if i not in bad: seqs.append(pair(p["q"], n["texts"][i])); y.append(0.0)
    o = net(*batch(seqs))[:, 4]; y = torch.tensor(y, device=DEVICE)
    return F.binary_cross_entropy_with_logits(o, y * 0.94 + 0.03, pos_weight=torch.tensor(2.0, device=DEVICE))


steps, step, start = EPOCHS * len(batches()), 0, time.time()
# The found pairs make later epochs longer.
steps = int(steps * 1.15)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1, (s + 1) / (0.08 * steps)) * max(0.02, 1 - s / steps))
shadow = {k: v.detach().clone() for k, v in net.state_dict().items()}
for epoch in range(EPOCHS):
    seen = {}
    if epoch in (2, 4, 6): find_hard(net)
    net.train()
    for kind, items in batches():
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = loss_of(kind, items)
        optimizer.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(net.parameters(), 1.0); optimizer.step(); schedule.step(); step += 1
        decay = min(0.995, (1 + step) / (10 + step))
        with torch.no_grad():
            for k, v in net.state_dict().items():
                if k.startswith(("layers", "heads")): shadow[k].mul_(decay).add_(v, alpha=1 - decay)
        seen.setdefault(kind, []).append(loss.item())
    print(NAME, epoch + 1, {k: round(sum(v) / len(v), 3) for k, v in seen.items()}, round(time.time() - start), "s", flush=True)
net.load_state_dict(shadow)
if TEST: print(NAME, "new", json.dumps(report(net)), flush=True)
if args.get("save"): torch.save(net.state_dict(), args["save"])
if args.get("out"):
    out = {}
    for k, v in net.state_dict().items():
        if k.startswith("layers") and v.ndim == 2:
            g = v.view(v.shape[0], -1, 32)
            scale = (g.gather(2, g.abs().argmax(2, keepdim=True)) / -8).half().float()
            scale = torch.where(scale == 0, torch.full_like(scale, 1e-4), scale)
            out[k] = (g / scale).round().clamp(-8, 7).to(torch.int8).view_as(v).cpu().numpy()
            out[k + ".s"] = scale[..., 0].half().cpu().numpy()
        elif k.startswith(("layers", "heads")):
            out[k] = v.float().cpu().numpy()
    np.savez_compressed(args["out"], **out)
