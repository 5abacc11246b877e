"""Trains the language model on text: corpus, tokenizer, model, measurement. see.py and join.py follow.

    python3 prebuilds/demo/train/train.py --work /tmp/chasqui-demo
"""

import argparse
import math
import time
from pathlib import Path

import torch
from torch.nn import functional

import tokenizer as bpe
from batches import attention_mask, packed_rows, tensors
from corpus import LATE_MIX, TRAINING_MIX, long_conversations, training_conversations
from evaluate import accuracies
from model import Model, Shape
from optimizer import optimizers_for

SHORT_ROW, LONG_ROW = 320, 1024
LATE_PART = 0.47  # from this share of the training on, everyday prompts join in


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("demo-work"), help="folder for tokenizer and checkpoint")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in the work folder")
    parser.add_argument("--tokens", type=float, default=20.6e6, help="tokens to train on")
    parser.add_argument("--batch", type=int, default=4096, help="tokens per step")
    parser.add_argument("--block-rate", type=float, default=0.02, help="highest learning rate of the blocks (Muon)")
    parser.add_argument("--rate", type=float, default=4e-3, help="highest learning rate of the other weights (AdamW)")
    parser.add_argument("--width", type=int, default=Shape.width)
    parser.add_argument("--layers", type=int, default=Shape.layers)
    parser.add_argument("--feed-forward", type=int, default=Shape.feed_forward)
    parser.add_argument("--precision", choices=("bfloat16", "float32"), default="bfloat16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def trained_tokenizer(path):
    if not path.exists():
        texts = (turn["content"] for messages in training_conversations("tokenizer", 6000) for turn in messages)
        bpe.train(texts, letter_merges=450, text_merges=500).save(path)
    return bpe.Tokenizer.load(path)


def endless_batches(tokenizer, tokens_per_batch, seed, mix):
    """Seven batches of short rows, then one of long rows, again and again."""
    def rows(conversations, length):
        while True:
            talks = ((messages, None) for messages in conversations(f"{seed} {next(numbers)}", 2000, mix))
            yield from packed_rows(tokenizer, talks, length)
    numbers = iter(range(10**9))
    short, long = rows(training_conversations, SHORT_ROW), rows(long_conversations, LONG_ROW)
    while True:
        for source, length, times in ((short, SHORT_ROW, 7), (long, LONG_ROW, 1)):
            for _ in range(times):
                yield tensors([next(source) for _ in range(tokens_per_batch // length)])


def rate_factor(done):
    """Warm-up over the first 2 %, then a cosine down to a fiftieth; `done` is the share of the training behind us."""
    return min(max(done, 1e-5) / 0.02, 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done)))


def answer_loss(model, batch, device, precision):
    tokens, positions, owner, targets = (part.to(device) for part in batch[:4])
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
        hidden = model.hidden(tokens, positions, attention_mask(owner))
        wanted = targets >= 0
        logits = model.logits(hidden[wanted])
    return functional.cross_entropy(logits.float(), targets[wanted])


def report(model, tokenizer, count, device):
    for kind, (share, wrong) in accuracies(model, tokenizer, count, device=device).items():
        print(f"  {kind:28} {share:6.1%}", flush=True)
        for prompt, answer in wrong:
            print(f"    {prompt.messages[-1]['content']!r} -> {answer!r}, not {prompt.answer!r}")


def save(checkpoint, model, optimizers, step, seen):
    states = [optimizer.state_dict() for optimizer in optimizers]
    torch.save({"weights": model.state_dict(), "optimizers": states, "step": step, "seen": seen}, checkpoint)


def restore(checkpoint, model, optimizers):
    """Loads what save() wrote; gives the steps and tokens that are over."""
    saved = torch.load(checkpoint)
    model.load_state_dict(saved["weights"])
    for optimizer, state in zip(optimizers, saved["optimizers"]):
        optimizer.load_state_dict(state)
    return saved["step"], saved["seen"]


def train(model, tokenizer, options, device, checkpoint):
    optimizers = optimizers_for(model, options.block_rate, options.rate)
    step, seen = restore(checkpoint, model, optimizers) if options.resume else (0, 0)
    early = endless_batches(tokenizer, options.batch, f"{options.seed} {seen}", TRAINING_MIX)
    late = endless_batches(tokenizer, options.batch, f"{options.seed} {seen} late", LATE_MIX)
    started, losses = time.time(), []
    while seen < options.tokens:
        done = seen / options.tokens
        batch = next(early if done < LATE_PART else late)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["highest"] * rate_factor(done)
        model.zero_grad()
        loss = answer_loss(model, batch, device, options.precision)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        seen += batch[0].numel()
        step += 1
        losses.append(loss.item())
        if step % 50 == 0:
            loss = sum(losses[-50:]) / 50
            minutes = (time.time() - started) / 60
            print(f"step {step}, {seen / 1e6:.2f} M tokens, {minutes:.1f} minutes, loss {loss:.4f}", flush=True)
        if step % 500 == 0:
            save(checkpoint, model, optimizers, step, seen)
            report(model, tokenizer, 32, device)
    save(checkpoint, model, optimizers, step, seen)
    print(f"trained {step} steps, {seen} tokens, {(time.time() - started) / 60:.1f} minutes")


def main():
    options = arguments()
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = trained_tokenizer(options.work / "tokenizer.json")
    shape = Shape(len(tokenizer.tokens), options.width, options.layers, feed_forward=options.feed_forward)
    model = Model(shape).to(device)
    parameters = sum(weight.numel() for weight in model.parameters())
    print(f"{parameters} parameters, a vocabulary of {shape.vocabulary}, on {device}", flush=True)
    train(model, tokenizer, options, device, options.work / "model.pt")
    report(model, tokenizer, 500, device)


if __name__ == "__main__":
    main()
