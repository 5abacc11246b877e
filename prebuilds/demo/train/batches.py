"""Conversations packed into full rows; a token sees only its own conversation."""

import torch

from chat import training_tokens


def packed_rows(tokenizer, conversations, length, open_rows=8):
    """Rows of `length` tokens, (ids, is_answer, conversation number); a conversation goes into the first with room."""
    rows = []
    for number, messages in enumerate(conversations):
        tokens, is_answer = training_tokens(tokenizer, messages)
        if len(tokens) > length:
            continue
        row = next((row for row in rows if len(row[0]) + len(tokens) <= length), None)
        if row is None:
            if len(rows) == open_rows:
                yield padded(rows.pop(0), length)
            row = ([], [], [])
            rows.append(row)
        for column, values in zip(row, (tokens, is_answer, [number] * len(tokens))):
            column += values


def padded(row, length):
    return tuple(column + [filler] * (length - len(column)) for column, filler in zip(row, (0, False, -1)))


def tensors(rows):
    """tokens, positions, mask and targets of a batch; targets are -1 where nothing is to be learnt."""
    tokens, is_answer, owner = (torch.tensor(column) for column in zip(*rows))
    length = tokens.shape[1]
    positions = torch.arange(length).expand_as(tokens)
    past = torch.ones(length, length, dtype=torch.bool).tril()
    visible = (owner[:, :, None] == owner[:, None, :]) & past
    mask = torch.zeros(visible.shape).masked_fill(~visible, -1e9).unsqueeze(1)
    targets = torch.full_like(tokens, -1)
    targets[:, :-1] = torch.where(is_answer[:, 1:], tokens[:, 1:], torch.tensor(-1))
    return tokens, positions, mask, targets
