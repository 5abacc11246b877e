"""The vision encoder: a small ConvNeXt V2 in the form that mtmd calls `yasa2`, which makes 64 tokens of a picture."""

import numpy
import torch
from torch import nn
from torch.nn import functional

SIDE, PATCH, TOKENS = 128, 4, 64
WIDTHS, DEPTHS = (40, 80, 160), (1, 2, 3)
EPSILON = 1e-6
MEAN, DEVIATION = 0.5, 0.5


class ChannelNorm(nn.Module):
    """Layer norm over the last dimension. Where this adds EPSILON to the variance, mtmd bounds it; no matter here."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return functional.layer_norm(x, x.shape[-1:], self.weight.to(x.dtype), self.bias.to(x.dtype), EPSILON)


class Block(nn.Module):
    """Depthwise 7 x 7 convolution, then a feed-forward with global response normalization; [batch, y, x, width]."""

    def __init__(self, width):
        super().__init__()
        self.dw = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.ln = ChannelNorm(width)
        self.pw1 = nn.Linear(width, 4 * width)
        self.grn_weight = nn.Parameter(torch.zeros(4 * width))
        self.grn_bias = nn.Parameter(torch.zeros(4 * width))
        self.pw2 = nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.dw(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        y = functional.gelu(self.pw1(self.ln(y)))
        norm = ((y * y).flatten(1, 2).float().sum(1) + 1e-12).sqrt()
        response = norm / norm.mean(-1, keepdim=True)
        scale = (1 + self.grn_weight * response)[:, None, None].to(y.dtype)
        return x + self.pw2(torch.addcmul(self.grn_bias.to(y.dtype), y, scale))


class Stage(nn.Module):
    def __init__(self, width, depth, before):
        super().__init__()
        self.norm = ChannelNorm(before) if before else None
        self.down = nn.Conv2d(before, width, 2, 2) if before else None
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))

    def forward(self, x):
        if self.down:
            x = self.down(self.norm(x).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        for block in self.blocks:
            x = block(x)
        return x


class Eyes(nn.Module):
    """Pictures to embeddings for a language model of `width`."""

    def __init__(self, width):
        super().__init__()
        self.patch = nn.Conv2d(3, WIDTHS[0], PATCH, PATCH)
        self.patch_norm = ChannelNorm(WIDTHS[0])
        self.stages = nn.ModuleList(map(Stage, WIDTHS, DEPTHS, (None,) + WIDTHS))
        self.positions = nn.Parameter(torch.randn(TOKENS, WIDTHS[-1]) * 0.02)
        self.project_in = nn.Linear(WIDTHS[-1], 2 * WIDTHS[-1])
        self.project_out = nn.Linear(2 * WIDTHS[-1], width)

    def features(self, pixels):
        """pixels: [batch, 3, SIDE, SIDE], normalized. Returns [batch, TOKENS, WIDTHS[-1]], rows from the top."""
        x = self.patch_norm(self.patch(pixels).permute(0, 2, 3, 1))
        for stage in self.stages:
            x = stage(x)
        return x.flatten(1, 2) + self.positions

    def project(self, features):
        return self.project_out(functional.gelu(self.project_in(features)))

    def forward(self, pixels):
        """Returns [batch, TOKENS, width of the language model]."""
        return self.project(self.features(pixels))


def pixels_of(images):
    """Square RGB pictures (SIDE pixels, as arrays or PIL images) as a normalized batch."""
    batch = torch.from_numpy(numpy.stack([numpy.asarray(image, dtype=numpy.uint8) for image in images]))
    return ((batch.permute(0, 3, 1, 2).float() / 255 - MEAN) / DEVIATION).contiguous()
