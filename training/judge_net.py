"""The networks that train_judge.py and train_near.py train: the layers of the reader, and their teacher."""
import functools, os, random
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from tokenizers import BertWordPieceTokenizer
from reader_file import ReaderFile

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
MOST = 62  # tokens of one text
CLS, SEP = 101, 102
_folder, _round, _words = ".train", False, None


def setup(folder, seed, in_four):
    """Says where the data is, and whether weights are rounded to 4 bits while training."""
    global _folder, _round, _words
    _folder, _round, _words = folder, in_four, BertWordPieceTokenizer(os.path.join(folder, "vocab.txt"), lowercase=True)
    random.seed(seed); np.random.seed(seed); torch.manual_seed(seed)


def exactly(run):
    """Runs without rounding: the reader's own weights are in 4 bits already."""
    global _round
    before, _round = _round, False
    try:
        return run()
    finally:
        _round = before


@functools.lru_cache
def reader():
    return ReaderFile("crates/nacre/model/reader.bin")


@functools.lru_cache(maxsize=None)
def tokens(text):
    return tuple(_words.encode(text[:600], add_special_tokens=False).ids[:MOST])


def pair(a, b):
    return [CLS, *tokens(a), SEP, *tokens(b), SEP]


def in_four_bits(w):
    """The weights as the reader's file has them: of every 32, the largest is -8 times their scale."""
    g = w.view(w.shape[0], -1, 32)
    scale = (g.gather(2, g.abs().argmax(2, keepdim=True)) / -8).half().float()
    scale = torch.where(scale == 0, torch.full_like(scale, 1e-4), scale)
    return (g / scale).round().clamp(-8, 7), scale


def linear(layer, x):
    """Multiplies by rounded weights while the gradient passes as if they were not, so that training allows for the rounding."""
    w = layer.weight
    if _round:
        codes, scale = in_four_bits(w)
        w = w + ((codes * scale).view_as(w) - w).detach()
    return F.linear(x, w, layer.bias)


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


class Stack(nn.Module):
    """Layers over the token rows of the reader, as crates/nacre-encoder has them."""

    def __init__(self, count):
        super().__init__()
        file = reader()
        for name, a in (("rows", file.rows), ("places", file.places), ("gain", file.norm[0]), ("bias", file.norm[1])):
            self.register_buffer(name, torch.tensor(a))
        self.layers = nn.ModuleList(Layer() for _ in range(count))

    def vector(self, ids, mask):
        drop = 0.1 if self.training else 0.0
        x = F.layer_norm(self.rows[ids] + self.places[: ids.shape[1]], (384,), self.gain, self.bias, 1e-12)
        x, wide = F.dropout(x, drop), mask[:, None, None, :].bool()
        for layer in self.layers:
            x = layer(x, wide, drop)
        m = mask[..., None].to(x.dtype)
        return F.dropout((x * m).sum(1) / m.sum(1), drop)

    def load(self, layers):
        t = lambda a: torch.tensor(np.asarray(a, np.float32))
        with torch.no_grad():
            for mine, l in zip(self.layers, layers):
                for part in ("qkv", "out", "wide", "narrow"):
                    getattr(mine, part).weight.copy_(t(l[part])); getattr(mine, part).bias.copy_(t(l[part + "_b"]))
                for part in ("n1", "n2"):
                    getattr(mine, part).weight.copy_(t(l[part][0])); getattr(mine, part).bias.copy_(t(l[part][1]))
        return self


class Near(Stack):
    """The layers that turn a text into a vector."""

    def __init__(self):
        super().__init__(4)


class Judge(Stack):
    """The layers that judge two texts, with the heads."""

    def __init__(self):
        super().__init__(6)
        self.heads, self.nli = nn.Linear(384, 5), nn.Linear(384, 3)

    def load_heads(self):
        with torch.no_grad():
            self.heads.weight.copy_(torch.tensor(reader().heads)); self.heads.bias.copy_(torch.tensor(reader().biases))
        return self

    def published(self):
        z = np.load(os.path.join(_folder, "mini.npz"))
        out = []
        for i in range(6):
            get = lambda k: z[f"layer.{i}.{k}"].astype(np.float32) * (z[f"layer.{i}.{k}.s"].astype(np.float32) if f"layer.{i}.{k}.s" in z.files else 1)
            a = "attention.self."
            out.append({
                "qkv": np.concatenate([get(a + p + ".weight") for p in ("query", "key", "value")]),
                "qkv_b": np.concatenate([get(a + p + ".bias") for p in ("query", "key", "value")]),
                "out": get("attention.output.dense.weight"), "out_b": get("attention.output.dense.bias"),
                "n1": [get("attention.output.LayerNorm.weight"), get("attention.output.LayerNorm.bias")],
                "wide": get("intermediate.dense.weight"), "wide_b": get("intermediate.dense.bias"),
                "narrow": get("output.dense.weight"), "narrow_b": get("output.dense.bias"),
                "n2": [get("output.LayerNorm.weight"), get("output.LayerNorm.bias")]})
        return self.load(out)


class Teacher(nn.Module):
    """all-mpnet-base-v2 with the heads of the judge. Its vocabulary is that of the reader, four places later."""

    def __init__(self):
        super().__init__()
        from transformers import MPNetConfig, MPNetModel
        z = np.load(os.path.join(_folder, "teacher.npz"))
        self.body = MPNetModel(MPNetConfig(vocab_size=30527, max_position_embeddings=514, relative_attention_num_buckets=32, layer_norm_eps=1e-5), add_pooling_layer=False)
        state = {}
        for k in z.files:
            if k.endswith(".s") or k == "kept": continue
            state[k] = torch.tensor(z[k].astype(np.float32) * (z[k + ".s"].astype(np.float32) if k + ".s" in z.files else 1))
        rows = torch.zeros(30527, 768); rows[torch.tensor(z["kept"].astype(np.int64))] = state["embeddings.word_embeddings.weight"]
        state["embeddings.word_embeddings.weight"] = rows
        missing = self.body.load_state_dict(state, strict=False).missing_keys
        assert not [k for k in missing if "position_ids" not in k], missing
        self.heads, self.nli = nn.Linear(768, 5), nn.Linear(768, 3)

    def vector(self, ids, mask):
        # [CLS] 101 and [SEP] 102 are <s> 0 and </s> 2; other tokens move by four, padding is 1.
        moved = torch.where(ids == 101, 0, torch.where(ids == 102, 2, ids + 4))
        moved = torch.where(mask.bool(), moved, 1)
        x = self.body(input_ids=moved, attention_mask=mask).last_hidden_state
        m = mask[..., None].to(x.dtype)
        return F.dropout((x * m).sum(1) / m.sum(1), 0.1, self.training)


def batch(seqs):
    n = max(map(len, seqs))
    ids = torch.zeros(len(seqs), n, dtype=torch.long); mask = torch.zeros(len(seqs), n, dtype=torch.long)
    for i, s in enumerate(seqs):
        ids[i, : len(s)] = torch.tensor(s); mask[i, : len(s)] = 1
    return ids.to(DEVICE), mask.to(DEVICE)
