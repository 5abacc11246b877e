"""Conversations packed into full rows; a token sees only its own conversation."""

import torch

from chat import pictures_in, training_tokens
from eyes import pixels_of


def packed_rows(tokenizer, talks, length, open_rows=8):
    """Rows of `length` tokens, (ids, is_answer, conversation number, pictures in their order).

    A conversation goes into the first row with room.
    """
    rows = []
    for number, (messages, tools) in enumerate(talks):
        tokens, is_answer = training_tokens(tokenizer, messages, tools)
        if len(tokens) > length:
            continue
        row = next((row for row in rows if len(row[0]) + len(tokens) <= length), None)
        if row is None:
            if len(rows) == open_rows:
                yield padded(rows.pop(0), length)
            row = ([], [], [], [])
            rows.append(row)
        for column, values in zip(row, (tokens, is_answer, [number] * len(tokens), pictures_in(messages))):
            column += values


def padded(row, length):
    columns = [column + [filler] * (length - len(column)) for column, filler in zip(row, (0, False, -1))]
    return (*columns, row[3])


def tensors(rows):
    """tokens, positions, owners, targets (-1 where nothing is to be learnt) and pixels (or None) of a batch."""
    *columns, pictures = zip(*rows)
    tokens, is_answer, owner = map(torch.tensor, columns)
    positions = torch.arange(tokens.shape[1]).expand_as(tokens)
    targets = torch.full_like(tokens, -1)
    targets[:, :-1] = torch.where(is_answer[:, 1:], tokens[:, 1:], torch.tensor(-1))
    images = [picture.image for row in pictures for picture in row]
    return tokens, positions, owner, targets, pixels_of(images) if images else None


def attention_mask(owner):
    """What is added to the attention scores: a token sees earlier tokens of its own conversation."""
    length = owner.shape[1]
    past = torch.ones(length, length, dtype=torch.bool, device=owner.device).tril()
    visible = (owner[:, :, None] == owner[:, None, :]) & past
    return torch.zeros(visible.shape, device=owner.device).masked_fill(~visible, -1e9).unsqueeze(1)
