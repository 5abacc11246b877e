"""Muon for the matrices inside the blocks, AdamW for the embedding and the norms."""

import torch


def orthogonalized(matrix):
    """The nearest matrix with singular values near 1: five Newton-Schulz steps with Muon's published coefficients."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix.bfloat16() / (matrix.norm() + 1e-7)
    wide = x if x.shape[0] <= x.shape[1] else x.T
    for _ in range(5):
        square = wide @ wide.T
        wide = a * wide + (b * square + c * square @ square) @ wide
    return (wide if x.shape[0] <= x.shape[1] else wide.T).float()


class Muon(torch.optim.Optimizer):
    def __init__(self, matrices, lr, momentum=0.95, weight_decay=0.1):
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for weight in group["params"]:
                average = self.state[weight].setdefault("average", torch.zeros_like(weight))
                average.lerp_(weight.grad, 1 - group["momentum"])
                direction = orthogonalized(weight.grad.lerp(average, group["momentum"]))
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                scale = max(1.0, weight.shape[0] / weight.shape[1]) ** 0.5
                weight.add_(direction, alpha=-group["lr"] * scale)


def optimizers_for(model, block_rate, other_rate):
    """The optimizers of a model; each group's "highest" is the rate that a schedule scales."""
    inner = [weight for weight in model.blocks.parameters() if weight.dim() == 2]
    vectors = [weight for weight in model.parameters() if weight.dim() == 1]
    muon = Muon(inner, block_rate)
    adam = torch.optim.AdamW([{"params": [model.embedding.weight], "weight_decay": 0.1},
                              {"params": vectors, "weight_decay": 0.0}], lr=other_rate, betas=(0.9, 0.98))
    for group in muon.param_groups + adam.param_groups:
        group["highest"] = group["lr"]
    return muon, adam
