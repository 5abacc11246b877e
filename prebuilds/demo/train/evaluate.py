"""Greedy answers of the PyTorch model to the held-out prompts."""

import random

import torch

import corpus
import talks
from chat import pictures_in, prompt_text
from eyes import pixels_of
from see import through_file

LONGEST_ANSWER = 120


@torch.no_grad()
def greedy_answers(model, tokenizer, prompts, eyes=None, device="cpu"):
    """The answers to `prompts`, all in one batch; None where an answer did not end within LONGEST_ANSWER tokens."""
    end = tokenizer.ids["<|im_end|>"]
    encoded = [tokenizer.encode(prompt_text(prompt.messages, getattr(prompt, "tools", None))) for prompt in prompts]
    longest = max(map(len, encoded))
    tokens = torch.tensor([[0] * (longest - len(ids)) + ids for ids in encoded], device=device)
    known = torch.tensor([[0] * (longest - len(ids)) + [1] * len(ids) for ids in encoded], device=device)
    positions = (known.cumsum(1) - 1).clamp(min=0)
    caches = [{} for _ in model.blocks]
    visible = torch.ones(longest, longest, dtype=torch.bool, device=device).tril() & (known[:, None, :] == 1)
    pictures = [picture for prompt in prompts for picture in pictures_in(prompt.messages)]
    images = [through_file(picture.image, random.Random(0)) for picture in pictures]
    seen = (tokens == tokenizer.ids["<|image_pad|>"], eyes(pixels_of(images))) if images else None
    answers = []
    for _ in range(LONGEST_ANSWER):
        mask = torch.zeros(visible.shape, device=device).masked_fill(~visible, -1e9).unsqueeze(1)
        tokens = model.logits(model.hidden(tokens, positions, mask, caches, seen)[:, -1:]).argmax(-1)
        answers.append(tokens)
        seen = None
        known = torch.cat((known, torch.ones_like(tokens)), 1)
        visible, positions = known[:, None, :] == 1, positions[:, -1:] + 1
        if (torch.cat(answers, 1) == end).any(1).all():
            break
    rows = [ids[:ids.index(end)] if end in ids else None for ids in torch.cat(answers, 1).tolist()]
    return [None if ids is None else tokenizer.text(ids) for ids in rows]


def accuracies(model, tokenizer, count, kinds=corpus.HELD_OUT_KINDS, eyes=None, device="cpu"):
    """For every kind: the share of `count` held-out prompts answered exactly right, and three (prompt, answer) that
    were not."""
    model.eval()
    results = {}
    for kind in kinds:
        prompts = talks.held_out_prompts(kind, count)
        prompts.sort(key=lambda prompt: len(prompt_text(prompt.messages, getattr(prompt, "tools", None))))
        answers = [answer for at in range(0, count, 50)
                   for answer in greedy_answers(model, tokenizer, prompts[at:at + 50], eyes, device)]
        wrong = [(prompt, answer) for prompt, answer in zip(prompts, answers) if answer != prompt.answer]
        results[kind] = (1 - len(wrong) / count, wrong[:3])
    model.train()
    return results


def report(model, eyes, tokenizer, count):
    for kind in talks.KINDS:
        share, wrong = accuracies(model, tokenizer, count, [kind], eyes)[kind]
        print(f"  {kind:34} {share:6.1%}", flush=True)
        for prompt, answer in wrong:
            content = prompt.messages[-1]["content"]
            said = content if isinstance(content, str) else [part for part in content if isinstance(part, str)]
            print(f"    {said!r} -> {answer!r}, not {prompt.answer!r}")
