"""A llama-architecture decoder in PyTorch: RMSNorm, rotary positions on neighbouring pairs, SwiGLU, tied embeddings."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True)
class Shape:
    """Sizes of the model; `context` is the number of positions it is published with."""
    vocabulary: int
    width: int = 160
    layers: int = 4
    head_size: int = 32
    feed_forward: int = 448
    context: int = 2048
    rope_base: float = 10000.0
    norm_epsilon: float = 1e-5

    @property
    def heads(self):
        return self.width // self.head_size


class Norm(nn.Module):
    def __init__(self, width, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.weight


def rotations(positions, shape):
    """Unit complex numbers, positions.shape + [head_size / 2]."""
    exponents = torch.arange(0, shape.head_size, 2, device=positions.device).float() / shape.head_size
    frequencies = shape.rope_base ** -exponents
    angles = positions.float().unsqueeze(-1) * frequencies
    return torch.polar(torch.ones_like(angles), angles)


def rotate(x, rotation):
    """x: [batch, heads, length, head_size]; llama.cpp's "norm" variant pairs neighbouring dimensions."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * rotation).flatten(-2).to(x.dtype)


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.attention_norm = Norm(shape.width, shape.norm_epsilon)
        self.qkv = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.out = nn.Linear(shape.width, shape.width, bias=False)
        self.feed_forward_norm = Norm(shape.width, shape.norm_epsilon)
        self.gate_up = nn.Linear(shape.width, 2 * shape.feed_forward, bias=False)
        self.down = nn.Linear(shape.feed_forward, shape.width, bias=False)

    def attend(self, x, rotation, mask, cache):
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.shape.heads, self.shape.head_size)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        query, key = rotate(query, rotation), rotate(key, rotation)
        if cache is not None:
            if cache:
                key, value = torch.cat((cache["key"], key), 2), torch.cat((cache["value"], value), 2)
            cache.update(key=key, value=value)
        scores = query @ key.transpose(-1, -2) * self.shape.head_size ** -0.5
        mixed = torch.softmax(scores.float() + mask, -1).to(value.dtype) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x, rotation, mask, cache=None):
        x = x + self.attend(self.attention_norm(x), rotation, mask, cache)
        gate, up = self.gate_up(self.feed_forward_norm(x)).chunk(2, -1)
        return x + self.down(functional.silu(gate) * up)


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.width, shape.norm_epsilon)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                residual = name.endswith(("out.weight", "down.weight"))
                nn.init.normal_(weight, std=0.02 if name == "embedding.weight" else
                                weight.shape[1] ** -0.5 / ((2 * shape.layers) ** 0.5 if residual else 1))

    def hidden(self, tokens, positions, mask, caches=None, seen=None):
        """tokens, positions: [batch, length]; mask: added to the scores, [batch, 1, length, keys].

        `seen` is a pair: where pictures stand, [batch, length], and their embeddings there, in that order. Returns
        [batch, length, width]. Each cache is a dict, empty at first, that keeps a block's keys and values.
        """
        rotation = rotations(positions, self.shape).unsqueeze(1)
        x = self.embedding(tokens)
        if seen is not None:
            x = x.masked_scatter(seen[0].unsqueeze(-1), seen[1].to(x.dtype))
        for block, cache in zip(self.blocks, caches or [None] * self.shape.layers):
            x = block(x, rotation, mask, cache)
        return self.norm(x)

    def logits(self, hidden):
        return functional.linear(hidden, self.embedding.weight)
