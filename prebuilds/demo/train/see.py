"""Trains the vision encoder alone, before it meets the language model: its embeddings must tell what is on a picture.

    python3 prebuilds/demo/train/see.py --work /tmp/chasqui-demo --minutes 40

A linear reader of every embedding is trained with it and thrown away afterwards. Each embedding must tell how many
shapes and kinds there are, how large the largest is, and which digit it is; the one where a shape has its centre also
tells that shape, its colour and size, how many are like it, and its kind's place in the order that answers use.
"""

import argparse
import io
import math
import random
import time
from pathlib import Path

import torch
from PIL import Image
from torch import nn
from torch.nn import functional

from eyes import SIDE, Eyes, pixels_of
from model import Shape
from optimizer import Muon
from pictures import COLOUR_NAMES, SHAPES, draw_digit, draw_shapes, encoded, random_kinds, seen_as

GRID, SIZES = 8, 16
LOCAL = {"shape": 6, "colour": 8, "size": SIZES, "order": 4, "alike": 4}
GLOBAL = {"count": 5, "kinds": 5, "largest": SIZES, "digit": 11}


def size_class(share):
    """The covered part of the picture in steps of 1.37; the shares that occur lie between 0.005 and 0.8."""
    return min(SIZES - 1, max(0, int((math.log(share) + 5.2) / 0.315)))


def ordered_kinds(things):
    """The distinct (colour, shape) pairs with their counts, in the order of the answers."""
    kinds = sorted({(COLOUR_NAMES.index(thing.colour), SHAPES.index(thing.shape)) for thing in things})
    pairs = [(COLOUR_NAMES.index(thing.colour), SHAPES.index(thing.shape)) for thing in things]
    return [(kind, pairs.count(kind)) for kind in kinds]


def labels(scene):
    """Classes of every cell (-1: nothing to tell) and of the whole picture, in the order of LOCAL and GLOBAL."""
    cells = [[-1] * len(LOCAL) for _ in range(GRID * GRID)]
    kinds = ordered_kinds(scene.things)
    for thing in scene.things:
        kind = COLOUR_NAMES.index(thing.colour), SHAPES.index(thing.shape)
        order = [known for known, _ in kinds].index(kind)
        place = int(thing.y * GRID) * GRID + int(thing.x * GRID)
        cells[place] = [kind[1], kind[0], size_class(thing.share), order, kinds[order][1] - 1]
    largest = max((size_class(thing.share) for thing in scene.things), default=-1)
    whole = [len(scene.things), len(kinds), largest, 10 if scene.digit is None else scene.digit]
    return cells, whole


def random_picture(rng):
    if rng.random() < 0.2:
        return draw_digit(rng.randrange(10), rng)
    return draw_shapes(random_kinds(rng, rng.random() < 0.5), rng)


def through_file(image, rng):
    """As a server sees it; PNG loses nothing, so only JPEG is really written."""
    if rng.random() < 0.3:
        image = Image.open(io.BytesIO(encoded(image, "jpeg", rng)))
    return seen_as(image, SIDE)


class Pictures(torch.utils.data.IterableDataset):
    """Endless batches of pixels, labels of the cells and labels of the pictures."""

    def __init__(self, batch, seed):
        self.batch, self.seed = batch, seed

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        rng = random.Random(f"see {self.seed} {worker.id if worker else 0}")
        torch.set_num_threads(1)
        while True:
            drawn = [random_picture(rng) for _ in range(self.batch)]
            cells, whole = zip(*(labels(scene) for _, scene in drawn))
            yield (pixels_of([through_file(image, rng) for image, _ in drawn]),
                   torch.tensor(cells), torch.tensor(whole))


class Reader(nn.Module):
    """Reads an embedding linearly."""

    def __init__(self, width):
        super().__init__()
        self.read = nn.Linear(width, 1 + sum(LOCAL.values()) + sum(GLOBAL.values()))

    def forward(self, embeddings):
        presence, *parts = self.read(embeddings).split([1, *LOCAL.values(), *GLOBAL.values()], -1)
        return presence.squeeze(-1), parts[:len(LOCAL)], parts[len(LOCAL):]


def loss_and_hits(reader, embeddings, cells, whole):
    """The loss, and the share of right readings of every label."""
    presence, local, wide = reader(embeddings)
    here = cells[..., 0] >= 0
    loss = 4 * functional.binary_cross_entropy_with_logits(presence, here.float())
    hits = {"presence": ((presence > 0) == here).all(1).float().mean().item()}
    for number, name in enumerate(LOCAL):
        logits, wanted = local[number][here], cells[here][:, number]
        loss = loss + functional.cross_entropy(logits, wanted)
        hits[name] = (logits.argmax(-1) == wanted).float().mean().item()
    for number, name in enumerate(GLOBAL):
        wanted = whole[:, number, None].expand(-1, GRID * GRID)
        loss = loss + functional.cross_entropy(wide[number].flatten(0, 1), wanted.flatten(), ignore_index=-1)
        known = whole[:, number] >= 0
        hits[name] = (wide[number].mean(1).argmax(-1) == whole[:, number])[known].float().mean().item()
    return loss, hits


def rate_factor(done):
    return min(done / 0.03 + 0.01, 1) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(done, 1))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("demo-work"))
    parser.add_argument("--minutes", type=float, default=40, help="length of the training, in processor time")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=2e-3, help="highest learning rate (AdamW)")
    parser.add_argument("--block-rate", type=float, default=0.015, help="highest learning rate of the matrices (Muon)")
    parser.add_argument("--workers", type=int, default=1, help="processes that draw")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    eyes, reader = Eyes(Shape.width).to(memory_format=torch.channels_last), Reader(Shape.width)
    if options.resume:
        saved = torch.load(options.work / "eyes.pt")
        eyes.load_state_dict(saved["eyes"])
        reader.load_state_dict(saved["reader"])
    matrices = [weight for name, weight in eyes.named_parameters() if weight.dim() == 2 and name != "positions"]
    ours = {id(weight) for weight in matrices}
    others = [weight for weight in [*eyes.parameters(), *reader.parameters()] if id(weight) not in ours]
    optimizers = (Muon(matrices, options.block_rate, weight_decay=0.02),
                  torch.optim.AdamW(others, options.rate, betas=(0.9, 0.98), weight_decay=0.01))
    highest = [optimizer.param_groups[0]["lr"] for optimizer in optimizers]
    batches = torch.utils.data.DataLoader(Pictures(options.batch, options.seed), batch_size=None,
                                          num_workers=options.workers, prefetch_factor=8)
    started, mean, seen = time.process_time(), {}, 0
    for step, (pixels, cells, whole) in enumerate(batches, 1):
        done = (time.process_time() - started) / 60 / options.minutes
        for optimizer, high in zip(optimizers, highest):
            optimizer.param_groups[0]["lr"] = high * rate_factor(done)
            optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            embeddings = eyes(pixels.contiguous(memory_format=torch.channels_last))
        loss, hits = loss_and_hits(reader, embeddings.float(), cells, whole)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([*eyes.parameters(), *reader.parameters()], 1.0)
        for optimizer in optimizers:
            optimizer.step()
        seen += len(pixels)
        for name, value in {"loss": loss.item(), **hits}.items():
            mean[name] = value if step == 1 else 0.95 * mean[name] + 0.05 * value
        if step % 50 == 0:
            told = " ".join(f"{name} {value:.3f}" for name, value in mean.items())
            print(f"{seen} pictures, {done * options.minutes:.1f} minutes: {told}", flush=True)
        if step % 50 == 0 or done >= 1:
            torch.save({"eyes": eyes.state_dict(), "reader": reader.state_dict()}, options.work / "eyes.tmp")
            (options.work / "eyes.tmp").rename(options.work / "eyes.pt")
        if done >= 1:
            return


if __name__ == "__main__":
    main()
