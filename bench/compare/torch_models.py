"""GPT-2 and LLaMA shaped models in PyTorch, the same shapes as Octant's own.

A model is a stack: input table, blocks, head. `first` and `last` say whether this part of a pipeline has the
table and the head. Query, key and value are one matrix product, or three where tensor parallelism has to cut
each by heads.
"""

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, shape, rotary, bias):
        super().__init__()
        self.head = shape.hidden // shape.heads
        self.grouped = shape.kv_heads != shape.heads
        key_width = shape.kv_heads * self.head
        self.widths = [shape.hidden, key_width, key_width]
        if shape.separate_projections:
            self.query = nn.Linear(shape.hidden, shape.hidden, bias=bias)
            self.key = nn.Linear(shape.hidden, key_width, bias=bias)
            self.value = nn.Linear(shape.hidden, key_width, bias=bias)
        else:
            self.projection = nn.Linear(shape.hidden, sum(self.widths), bias=bias)
        self.separate = shape.separate_projections
        self.output = nn.Linear(shape.hidden, shape.hidden, bias=bias)
        self.rotary = rotary

    def forward(self, x):
        batch, length, _ = x.shape
        if self.separate:
            parts = self.query(x), self.key(x), self.value(x)
        else:
            parts = self.projection(x).split(self.widths, dim=-1)
        query, key, value = (p.view(batch, length, -1, self.head).transpose(1, 2) for p in parts)
        if self.rotary is not None:
            query, key = self.rotary(query), self.rotary(key)
        mixed = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=self.grouped
        )
        return self.output(mixed.transpose(1, 2).reshape(batch, length, -1))


class Rotary(nn.Module):
    """Turns each half of a head against the other by an angle that grows with the position."""

    def __init__(self, shape):
        super().__init__()
        half = shape.hidden // shape.heads // 2
        frequencies = 10000.0 ** (-torch.arange(half, dtype=torch.float32) / half)
        angles = torch.arange(shape.sequence, dtype=torch.float32)[:, None] * frequencies
        self.register_buffer("cosine", angles.cos(), persistent=False)
        self.register_buffer("sine", angles.sin(), persistent=False)

    def forward(self, x):
        length = x.shape[-2]
        cosine, sine = self.cosine[:length].to(x.dtype), self.sine[:length].to(x.dtype)
        low, high = x.chunk(2, dim=-1)
        return torch.cat((low * cosine - high * sine, high * cosine + low * sine), dim=-1)


class GeluMlp(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.up = nn.Linear(shape.hidden, shape.ffn)
        self.down = nn.Linear(shape.ffn, shape.hidden)

    def forward(self, x):
        return self.down(functional.gelu(self.up(x), approximate="tanh"))


class SwigluMlp(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.gate = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.up = nn.Linear(shape.hidden, shape.ffn, bias=False)
        self.down = nn.Linear(shape.ffn, shape.hidden, bias=False)

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, shape, rotary):
        super().__init__()
        llama = shape.family == "llama"
        norm = nn.RMSNorm if llama else nn.LayerNorm
        self.attention_norm = norm(shape.hidden)
        self.attention = Attention(shape, rotary, bias=not llama)
        self.mlp_norm = norm(shape.hidden)
        self.mlp = SwigluMlp(shape) if llama else GeluMlp(shape)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Model(nn.Module):
    """Token ids (or, on a later pipeline stage, hidden states) in; logits, hidden states or the loss out."""

    def __init__(self, shape, layers=None, first=True, last=True):
        super().__init__()
        llama = shape.family == "llama"
        rotary = Rotary(shape) if llama else None
        if first:
            self.table = nn.Embedding(shape.vocab, shape.hidden)
            self.positions = None if llama else nn.Embedding(shape.sequence, shape.hidden)
        self.blocks = nn.ModuleList(
            Block(shape, rotary) for _ in range(shape.layers if layers is None else layers)
        )
        if last:
            self.norm = nn.RMSNorm(shape.hidden) if llama else nn.LayerNorm(shape.hidden)
            self.head = nn.Linear(shape.hidden, shape.vocab, bias=False)
        self.first, self.last = first, last
        if first and last and not llama:
            self.tie()
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02)

    def tie(self):
        self.head.weight = self.table.weight

    def forward(self, x, targets=None):
        if self.first:
            length = x.shape[1]
            x = self.table(x)
            if self.positions is not None:
                x = x + self.positions(torch.arange(length))
        for block in self.blocks:
            x = block(x)
        if self.last:
            x = self.head(self.norm(x))
        return x if targets is None else loss_of(x, targets)


def loss_of(logits, targets):
    return functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def pipeline_layers(shape, stages, stage):
    """Layers of a stage when the head counts as as many layers as it has multiplications."""
    llama = shape.family == "llama"
    width = shape.hidden // shape.heads * (shape.heads + 2 * shape.kv_heads)
    layer = shape.hidden * (width + shape.hidden + (3 if llama else 2) * shape.ffn)
    total = shape.layers + shape.hidden * shape.vocab / layer
    bounds = [min(shape.layers, round(total * s / stages)) for s in range(stages)] + [shape.layers]
    return bounds[stage + 1] - bounds[stage]
