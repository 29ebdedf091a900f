#!/usr/bin/env python3
"""Makes reference.json: losses and gradient norms of ten training steps by PyTorch, for both model families.

    python3 -m venv venv && venv/bin/pip install torch numpy
    venv/bin/python tests/parity/torch/make_reference.py            # writes reference.json beside this script

Model and optimizer are PyTorch's own operations and autograd. What both sides must share is made here from its
definition: the first weights (Philox-4x32-10 by logical name and element, Salmon et al. 2011, and Box & Muller 1958;
core/math/philox.h and core/math/normal.h) and the data, which is written into the file. --double repeats the runs in
f64 and prints by how much the f32 numbers are off.
"""
import argparse
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

SEED = 1234
STEPS, SEQUENCES, T, V = 10, 8, 32, 257

# Blocks of a job spec (proto/job.proto). init_std is large, so that attention is far from uniform and the activation
# from linear, and no detail has its default: a wrong one then shows in the first numbers.
MODELS = {
    "GPT2": {
        "family": "GPT2", "num_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "num_kv_heads": 4,
        "ffn_hidden_size": 256, "vocab_size": V, "sequence_length": T, "tie_embeddings": True, "dropout": 0.0,
        "norm_epsilon": 1e-4, "init_std": 0.25,
    },
    "LLAMA": {
        "family": "LLAMA", "num_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "num_kv_heads": 2,
        "ffn_hidden_size": 172, "vocab_size": V, "sequence_length": T, "tie_embeddings": False, "dropout": 0.0,
        "norm_epsilon": 1e-4, "rope_base": 5000.0, "init_std": 0.15,
    },
}
OPTIMIZERS = {
    "ADAMW": {
        "adamw": {"learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-6, "weight_decay": 0.1},
        "clip_grad_norm": 1.0,
    },
    "SGD": {"sgd": {"learning_rate": 0.1}, "clip_grad_norm": 100.0},  # never reached: the factor stays 1
}


# ---- First weights -----------------------------------------------------------------------------------------------


def philox4x32(key, counter):
    """Lanes 0 and 1 of the blocks with the 64-bit counters `counter`, an array of uint64."""
    low32 = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    c0, c1 = counter & low32, counter >> shift
    c2, c3 = np.zeros_like(counter), np.zeros_like(counter)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p1 >> shift) ^ c1 ^ np.uint64(k0), p1 & low32, (p0 >> shift) ^ c3 ^ np.uint64(k1), p0 & low32
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1


def mix64(x):
    mask = (1 << 64) - 1
    x = (x + 0x9E3779B97F4A7C15) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def parameter_key(seed, name):
    hashed = 0xCBF29CE484222325
    for character in name.encode():
        hashed = ((hashed ^ character) * 0x100000001B3) & ((1 << 64) - 1)
    return mix64(mix64(seed) ^ hashed)


def normals(key, count):
    lane0, lane1 = philox4x32(key, np.arange((count + 1) // 2, dtype=np.uint64))
    u1 = ((lane0 >> np.uint64(8)) + np.uint64(1)).astype(np.float64) / 16777216.0
    u2 = (lane1 >> np.uint64(8)).astype(np.float64) / 16777216.0
    radius, angle = np.sqrt(-2.0 * np.log(u1)), 2.0 * math.pi * u2
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)[:count].astype(np.float32)


def shapes(m):
    """Logical name -> (global shape, "in" | "out" | "ones" | "zeros")."""
    C, FFN, KD = m["hidden_size"], m["ffn_hidden_size"], m["num_kv_heads"] * m["hidden_size"] // m["num_attention_heads"]
    gpt2 = m["family"] == "GPT2"
    result = {"embedding.word.weight": ((V, C), "in")}
    if gpt2:
        result["embedding.position.weight"] = ((T, C), "in")

    def norm(name):
        result[name + ".weight"] = ((C,), "ones")
        if gpt2:
            result[name + ".bias"] = ((C,), "zeros")

    def linear(name, rows, columns, kind):
        result[name + ".weight"] = ((rows, columns), kind)
        if gpt2:
            result[name + ".bias"] = ((rows,), "zeros")

    for layer in range(m["num_layers"]):
        at = f"layers.{layer}."
        norm(at + "attention_norm")
        linear(at + "attention.query", C, C, "in")
        linear(at + "attention.key", KD, C, "in")
        linear(at + "attention.value", KD, C, "in")
        linear(at + "attention.output", C, C, "out")
        norm(at + "mlp_norm")
        for name in ["in"] if gpt2 else ["gate", "up"]:
            linear(at + "mlp." + name, FFN, C, "in")
        linear(at + "mlp." + ("out" if gpt2 else "down"), C, FFN, "out")
    norm("final_norm")
    if not m["tie_embeddings"]:
        result["head.weight"] = ((V, C), "in")
    return result


def first_weights(m, dtype):
    # The projections into the residual stream start smaller by the root of their number (Radford 2019, section 2.3).
    std = {"in": np.float32(m["init_std"]), "out": np.float32(m["init_std"]) / np.sqrt(np.float32(2 * m["num_layers"]))}
    weights = {}
    for name, (shape, kind) in shapes(m).items():
        if kind in std:
            value = (std[kind] * normals(parameter_key(SEED, name), math.prod(shape))).reshape(shape)
        else:
            value = np.full(shape, 1.0 if kind == "ones" else 0.0, np.float32)
        weights[name] = torch.tensor(value, dtype=dtype).requires_grad_()
    return weights


# ---- Model -------------------------------------------------------------------------------------------------------


def rotate(x, base):
    """x (B,H,T,D): pair i of a head is (x[i], x[i + D/2]), turned by t · base^(-2i/D) (Su et al. 2021)."""
    half = x.shape[-1] // 2
    frequency = torch.pow(torch.tensor(base, dtype=torch.float64), -2.0 * torch.arange(half, dtype=torch.float64) / x.shape[-1])
    angle = torch.outer(torch.arange(x.shape[-2], dtype=torch.float64), frequency)
    cos, sin = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
    low, high = x[..., :half], x[..., half:]
    return torch.cat([low * cos - high * sin, high * cos + low * sin], dim=-1)


def logits(m, w, tokens):
    gpt2 = m["family"] == "GPT2"
    C, H, K = m["hidden_size"], m["num_attention_heads"], m["num_kv_heads"]
    B, length = tokens.shape

    def norm(x, name):
        if gpt2:
            return F.layer_norm(x, (C,), w[name + ".weight"], w[name + ".bias"], m["norm_epsilon"])
        return F.rms_norm(x, (C,), w[name + ".weight"], m["norm_epsilon"])

    def linear(x, name):
        return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))

    def attention(x, at):
        q, k, v = (linear(x, at + name).view(B, length, heads, C // H).transpose(1, 2)
                   for name, heads in [("query", H), ("key", K), ("value", K)])
        if not gpt2:
            q, k = rotate(q, m["rope_base"]), rotate(k, m["rope_base"])
        # Query heads h·H/K … share the key and value head h.
        k, v = k.repeat_interleave(H // K, dim=1), v.repeat_interleave(H // K, dim=1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return linear(mixed.transpose(1, 2).reshape(B, length, C), at + "output")

    def mlp(x, at):
        if gpt2:
            return linear(F.gelu(linear(x, at + "in"), approximate="tanh"), at + "out")
        return linear(F.silu(linear(x, at + "gate")) * linear(x, at + "up"), at + "down")

    x = F.embedding(tokens, w["embedding.word.weight"])
    if gpt2:
        x = x + w["embedding.position.weight"][:length]
    for layer in range(m["num_layers"]):
        at = f"layers.{layer}."
        x = x + attention(norm(x, at + "attention_norm"), at + "attention.")
        x = x + mlp(norm(x, at + "mlp_norm"), at + "mlp.")
    return F.linear(norm(x, "final_norm"), w["embedding.word.weight" if m["tie_embeddings"] else "head.weight"])


def train(m, settings, data, dtype):
    w = first_weights(m, dtype)
    if "adamw" in settings:
        o = settings["adamw"]
        groups = [{"params": [p for p in w.values() if p.dim() > 1], "weight_decay": o["weight_decay"]},
                  {"params": [p for p in w.values() if p.dim() == 1], "weight_decay": 0.0}]
        optimizer = torch.optim.AdamW(groups, lr=o["learning_rate"], betas=(o["beta1"], o["beta2"]), eps=o["epsilon"])
    else:
        optimizer = torch.optim.SGD(w.values(), lr=settings["sgd"]["learning_rate"])
    losses, norms = [], []
    for step in data:
        sequences = torch.tensor(step["sequences"])
        mask = torch.tensor([[int(c) for c in row] for row in step["masks"]], dtype=dtype)
        each = F.cross_entropy(logits(m, w, sequences[:, :-1]).transpose(1, 2), sequences[:, 1:], reduction="none")
        loss = (each * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(w.values(), settings["clip_grad_norm"]).item())
        optimizer.step()
        losses.append(loss.item())
    return losses, norms


# ---- Data --------------------------------------------------------------------------------------------------------


def make_data():
    """Sequences of T + 1 tokens, two of three following a rule that can be learnt; masks from empty to full."""
    random = np.random.default_rng(SEED)
    steps = []
    for _ in range(STEPS):
        sequences = random.integers(0, V, (SEQUENCES, T + 1))
        for t in range(T):
            follows = random.integers(0, 3, SEQUENCES) > 0
            sequences[follows, t + 1] = (sequences[follows, t] * 7 + 3) % V
        share = np.array([1.0, 0.9, 0.5, 0.0, 0.1, 0.75, 0.25, 0.6])[:, None]
        masks = random.random((SEQUENCES, T)) < share
        steps.append({"sequences": sequences.tolist(), "masks": ["".join(str(int(c)) for c in row) for row in masks]})
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=str(pathlib.Path(__file__).with_name("reference.json")))
    parser.add_argument("--double", action="store_true", help="also train in f64 and print how far f32 is off")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    data = make_data()
    runs = []
    for family, model in MODELS.items():
        for optimizer, settings in OPTIMIZERS.items():
            losses, norms = train(model, settings, data, torch.float32)
            runs.append({"name": f"{family} {optimizer}", "model": model, "optimizer": settings, "losses": losses,
                         "gradient_norms": norms})
            print(runs[-1]["name"], "losses", *(f"{x:.5f}" for x in losses), "norms", *(f"{x:.5f}" for x in norms))
            if arguments.double:
                exact = train(model, settings, data, torch.float64)
                for what, found, true in zip(["losses", "norms"], [losses, norms], exact):
                    print(f"  f32 {what} off by", *(f"{abs(f - t) / t:.1e}" for f, t in zip(found, true)))

    # One run and one step a line.
    lines = ["{", f' "made_by": "tests/parity/torch/make_reference.py, PyTorch {torch.__version__.split("+")[0]}, f32",',
             f' "seed": {SEED},', ' "runs": [', ",\n".join("  " + json.dumps(run) for run in runs), " ],", ' "data": [',
             ",\n".join("  " + json.dumps(step, separators=(",", ":")) for step in data), " ]", "}"]
    pathlib.Path(arguments.output).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
