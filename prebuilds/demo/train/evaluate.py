"""Greedy answers of the PyTorch model to the held-out prompts."""

import torch

from chat import prompt_text
from corpus import HELD_OUT_KINDS, held_out_prompts

LONGEST_ANSWER = 120


@torch.no_grad()
def greedy_answers(model, tokenizer, prompts, device="cpu"):
    """The answers to `prompts`, all in one batch; None where an answer did not end within LONGEST_ANSWER tokens."""
    end = tokenizer.ids["<|im_end|>"]
    encoded = [tokenizer.encode(prompt_text(prompt.messages)) for prompt in prompts]
    longest = max(map(len, encoded))
    tokens = torch.tensor([[0] * (longest - len(ids)) + ids for ids in encoded], device=device)
    seen = torch.tensor([[0] * (longest - len(ids)) + [1] * len(ids) for ids in encoded], device=device)
    positions = (seen.cumsum(1) - 1).clamp(min=0)
    caches = [{} for _ in model.blocks]
    visible = torch.ones(longest, longest, dtype=torch.bool, device=device).tril() & (seen[:, None, :] == 1)
    answers = []
    for _ in range(LONGEST_ANSWER):
        mask = torch.zeros(visible.shape, device=device).masked_fill(~visible, -1e9).unsqueeze(1)
        tokens = model.logits(model.hidden(tokens, positions, mask, caches)[:, -1:]).argmax(-1)
        answers.append(tokens)
        seen = torch.cat((seen, torch.ones_like(tokens)), 1)
        visible, positions = seen[:, None, :] == 1, positions[:, -1:] + 1
        if (torch.cat(answers, 1) == end).any(1).all():
            break
    rows = torch.cat(answers, 1).tolist()
    return [tokenizer.decode(ids[:ids.index(end)]) if end in ids else None for ids in rows]


def accuracies(model, tokenizer, count, device="cpu"):
    """For every kind: the share of `count` held-out prompts answered exactly right, and three (prompt, answer) that
    were not."""
    model.eval()
    results = {}
    for kind in HELD_OUT_KINDS:
        prompts = sorted(held_out_prompts(kind, count), key=lambda prompt: len(prompt_text(prompt.messages)))
        answers = [answer for at in range(0, count, 100)
                   for answer in greedy_answers(model, tokenizer, prompts[at:at + 100], device)]
        wrong = [(prompt, answer) for prompt, answer in zip(prompts, answers) if answer != prompt.answer]
        results[kind] = (1 - len(wrong) / count, wrong[:3])
    model.train()
    return results
