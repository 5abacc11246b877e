"""Trains the language model further, with pictures as the encoder sees them and with tools; writes both GGUF files.

    python3 prebuilds/demo/train/join.py --work /tmp/chasqui-demo

Starts from `model.pt` of train.py and `eyes.pt` of see.py in the work folder. Of the encoder only the projector learns.
"""

import argparse
import random
import time
from pathlib import Path

import torch
from torch.nn import functional

import corpus
import talks
from batches import attention_mask, packed_rows, tensors
from evaluate import report
from export import GGUF_PY, export
from export_eyes import export_eyes
from eyes import Eyes
from model import Model, Shape
from optimizer import optimizers_for
from see import rate_factor, through_file
from sights import Picture
from tokenizer import Tokenizer

DEMO = Path(__file__).resolve().parents[1]
ROWS = {"text": 320, "pictures": 448, "tools": 1024, "long": 1024}
TURNS = "text pictures tools pictures text pictures tools pictures text pictures pictures long"
SEEN_SCALE = 0.1  # the encoder's embeddings, brought near the size of the tokens'


def settled(talk, rng):
    """The talk with its pictures as the encoder gets them."""
    def part_of(part):
        return part if isinstance(part, str) else Picture(through_file(part.image, rng), part.scene)
    return [turn if isinstance(turn["content"], str) else {**turn, "content": list(map(part_of, turn["content"]))}
            for turn in talk.messages], talk.tools


def picture_talk(rng):
    return settled(talks.picture_talk(rng) if rng.random() < 0.97 else talks.blind_talk(rng), rng)


def text_talk(rng):
    turns = rng.choices((1, 2, 3, 4), (50, 28, 17, 5))[0]
    return corpus.training_conversation(rng, turns, corpus.LATE_MIX), None


def long_talk(rng):
    return corpus.training_conversation(rng, rng.randrange(4, 15), corpus.LATE_MIX + corpus.COUNT_FAR), None


class Batches(torch.utils.data.IterableDataset):
    """Endless batches of the kinds that `turns` names, one after the other: (kind, tensors)."""

    def __init__(self, tokenizer, tokens, turns, seed):
        self.tokenizer, self.tokens, self.turns, self.seed = tokenizer, tokens, turns, seed

    def rows(self, kind):
        make = {"text": text_talk, "pictures": picture_talk, "tools": talks.tool_talk, "long": long_talk}[kind]
        rng = random.Random(f"join {self.seed} {kind}")
        while True:
            yield from packed_rows(self.tokenizer, (make(rng) for _ in range(500)), ROWS[kind])

    def __iter__(self):
        torch.set_num_threads(1)
        sources = {kind: self.rows(kind) for kind in ROWS}
        while True:
            for kind in self.turns:
                yield kind, tensors([next(sources[kind]) for _ in range(self.tokens // ROWS[kind])])


def answer_loss(model, eyes, pad, batch):
    tokens, positions, owner, targets, pixels = batch
    with torch.autocast("cpu", torch.bfloat16):
        seen = None
        if pixels is not None:
            with torch.no_grad():
                features = eyes.features(pixels.contiguous(memory_format=torch.channels_last))
            seen = tokens == pad, eyes.project(features)
        hidden = model.hidden(tokens, positions, attention_mask(owner), seen=seen)
        wanted = targets >= 0
        logits = model.logits(hidden[wanted])
    return functional.cross_entropy(logits.float(), targets[wanted])


def save(path, model, eyes, step):
    torch.save({"weights": model.state_dict(), "eyes": eyes.state_dict(), "step": step}, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").rename(path)


def train(model, eyes, tokenizer, options):
    optimizers = optimizers_for(model, options.block_rate, options.rate)
    projector = [*eyes.project_in.parameters(), *eyes.project_out.parameters()]
    optimizers += (torch.optim.AdamW(projector, options.rate / 2, betas=(0.9, 0.98), weight_decay=0.0),)
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    for group in groups:
        group["highest"] = group["lr"]
    weights = [*model.parameters(), *projector]
    data = Batches(tokenizer, options.batch, options.turns.split(), options.seed)
    batches = torch.utils.data.DataLoader(data, batch_size=None, num_workers=1, prefetch_factor=16)
    pad, started, losses = tokenizer.ids["<|image_pad|>"], time.process_time(), {}
    for step, (kind, batch) in enumerate(batches, 1):
        done = (time.process_time() - started) / 60 / options.minutes
        for group in groups:
            group["lr"] = group["highest"] * rate_factor(done)
        for weight in weights:
            weight.grad = None
        loss = answer_loss(model, eyes, pad, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        for optimizer in optimizers:
            optimizer.step()
        losses.setdefault(kind, []).append(loss.item())
        if step % 24 == 0:
            means = " ".join(f"{kind} {sum(values) / len(values):.3f}" for kind, values in losses.items())
            print(f"step {step}, {done * options.minutes:.1f} minutes: {means}", flush=True)
            losses = {}
            save(options.work / "joint.pt", model, eyes, step)
        if done >= 1:
            break
    save(options.work / "joint.pt", model, eyes, step)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("demo-work"), help="folder of the checkpoints")
    parser.add_argument("--output", type=Path, default=DEMO, help="folder for the two GGUF files")
    parser.add_argument("--type", choices=("Q8_0", "F16"), default="Q8_0", help="type of the language model's matrices")
    parser.add_argument("--gguf-py", type=Path, default=GGUF_PY, help="llama.cpp's gguf-py folder")
    parser.add_argument("--minutes", type=float, default=180,
                        help="length of the training, in processor time; 0: only export")
    parser.add_argument("--batch", type=int, default=2048, help="tokens per step")
    parser.add_argument("--block-rate", type=float, default=0.004, help="highest learning rate of the blocks (Muon)")
    parser.add_argument("--rate", type=float, default=1e-3, help="highest learning rate of the other weights (AdamW)")
    parser.add_argument("--resume", action="store_true", help="go on from joint.pt")
    parser.add_argument("--new-eyes", action="store_true", help="with --resume: take the encoder from eyes.pt again")
    parser.add_argument("--turns", default=TURNS, help="the kinds of batches, in turn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--count", type=int, default=100, help="prompts of each kind to measure at the end; 0: none")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    tokenizer = Tokenizer.load(options.work / "tokenizer.json")
    model, eyes = Model(Shape(len(tokenizer.tokens))), Eyes(Shape.width).to(memory_format=torch.channels_last)
    if options.resume:
        saved = torch.load(options.work / "joint.pt")
        model.load_state_dict(saved["weights"])
        eyes.load_state_dict(saved["eyes"])
    else:
        model.load_state_dict(torch.load(options.work / "model.pt")["weights"])
    if not options.resume or options.new_eyes:
        eyes.load_state_dict(torch.load(options.work / "eyes.pt")["eyes"])
        for weight in eyes.project_out.parameters():
            weight.data *= SEEN_SCALE
    if options.minutes:
        train(model, eyes, tokenizer, options)
    export(model, tokenizer, options.output / "chasqui-demo.gguf", options.type, options.gguf_py)
    export_eyes(eyes, options.output / "mmproj-chasqui-demo.gguf", options.gguf_py)
    if options.count:
        report(model, eyes, tokenizer, options.count)


if __name__ == "__main__":
    main()
