"""Wordings from patterns: `[a|b|]` chooses one alternative, and may be nested."""

import re

INNERMOST = re.compile(r"\[([^\[\]]*)\]")

OPENERS = ("", "", "", "", "", "", "please ", "hey, ", "hello, ", "hi! ", "ok, ", "so, ", "and ", "now ", "um, ",
           "well, ", "tell me, ", "quick question: ", "one question: ", "I have a question: ", "next question: ",
           "could you say: ")
CLOSERS = ("", "", "", "", "", "", "", " please", ", please", " thanks", ", thank you", " I would like to know",
           " my friend", " exactly")


def expand(pattern, rng):
    """One wording of `pattern`, every choice drawn from `rng`, surplus blanks removed."""
    while True:
        wording, choices = INNERMOST.subn(lambda match: rng.choice(match.group(1).split("|")), pattern)
        if not choices:
            return re.sub(r" +", " ", wording).strip()
        pattern = wording


def spoken(wording, mark, rng, slips=True):
    """`wording` the way people type it: with an opener, a closer, other letter case, a mark or none, rarely a slip."""
    text = rng.choice(OPENERS) + wording + rng.choice(CLOSERS)
    if rng.random() < 0.6:
        text = text[:1].upper() + text[1:]
    style = rng.random()
    if style < 0.25:
        text = text.lower()
    elif style < 0.28:
        text = text.upper()
    if slips and rng.random() < 0.04:
        text = with_slip(text, rng)
    return text + rng.choice((mark, mark, mark, "", "", ".", "!", " " + mark, mark + mark))


def with_slip(text, rng):
    """`text` with one letter lost, doubled or swapped with the next."""
    at = rng.randrange(1, max(2, len(text) - 1))
    lost, doubled, swapped = "", text[at:at + 1] * 2, text[at:at + 2][::-1]
    kind = rng.randrange(3)
    return text[:at] + (lost, doubled, swapped)[kind] + text[at + (2 if kind == 2 else 1):]
