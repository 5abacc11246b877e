"""Byte-level BPE with the pieces of Qwen2's pre-tokenizer, so that llama.cpp's `qwen2` splits text the same way.

Two choices make a small model's work easier. Letters are merged before anything else, so a word has the same pieces at
the start of an answer as after a blank. And every merge of small letters is followed by its capital twin, so text in
capitals has exactly as many tokens as the same text in small letters.
"""

import json
import re
from collections import Counter

CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>", "</image>", "<|image_pad|>",
           "<|reserved_0|>", "<|reserved_1|>", "<|reserved_2|>", "<|reserved_3|>")
TAGS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<tools>", "</tools>")
SPECIALS = CONTROL + TAGS

LETTERS = r"[^\W\d_]"
PRETOKEN = re.compile(r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
                      rf"|[^\r\n\w]?{LETTERS}+|_{LETTERS}+|\d| ?(?:[^\s\w]|_)+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIAL = re.compile("(" + "|".join(re.escape(token) for token in SPECIALS) + ")")


def byte_characters():
    """GPT-2's printable stand-in for each of the 256 bytes."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + place) for place, byte in enumerate(others)}


BYTE_TO_CHARACTER = byte_characters()
CHARACTER_TO_BYTE = {character: byte for byte, character in BYTE_TO_CHARACTER.items()}


def pretokens(text):
    """The pieces of `text` that merges never cross, in stand-in characters."""
    return ["".join(BYTE_TO_CHARACTER[byte] for byte in piece.encode()) for piece in PRETOKEN.findall(text)]


def merged(symbols, left, right):
    """`symbols` with every neighbouring `left`, `right` joined."""
    result, at = [], 0
    while at < len(symbols):
        if symbols[at] == left and symbols[at + 1:at + 2] == [right]:
            result.append(left + right)
            at += 2
        else:
            result.append(symbols[at])
            at += 1
    return result


def capital_twin(merge):
    """The same merge of capitals, when `merge` joins small ASCII letters and no capitals."""
    text = "".join(merge)
    if re.search("[A-Z]", text) or not re.search("[a-z]", text):
        return None
    return tuple(re.sub("[a-z]+", lambda small: small.group().upper(), part) for part in merge)


def learn_merges(merges, piece_counts, count):
    """Appends `count` merges (and their capital twins) to `merges`, always the most frequent pair of `piece_counts`."""
    words = [(Tokenizer(merges).merge(piece), number) for piece, number in sorted(piece_counts.items())]
    known = set(merges)
    for _ in range(count):
        pairs = Counter()
        for symbols, number in words:
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += number
        if not pairs:
            return
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        words = [(merged(symbols, *best), number) for symbols, number in words]
        for merge in (best, capital_twin(best)):
            if merge and merge not in known:
                known.add(merge)
                merges.append(merge)


def repeated(counts, least=3):
    """Without the rare pieces: most are invented words, which say nothing about the language."""
    return {piece: number for piece, number in counts.items() if number >= least}


def train(texts, letter_merges, text_merges):
    """A tokenizer from `texts`: first merges within words of small letters, then merges of whole pieces."""
    texts = list(texts)
    letters, pieces = Counter(), Counter()
    for text in texts:
        for piece in pretokens(text):
            letters.update(re.findall("[a-z]+", piece.lower()))
            if not piece.isupper():
                pieces[piece] += 1
    merges = []
    learn_merges(merges, repeated(letters), letter_merges)
    learn_merges(merges, repeated(pieces), text_merges)
    return Tokenizer(merges)


class Tokenizer:
    """Ids: the 256 bytes, then one per merge, then the specials."""

    def __init__(self, merges):
        self.merges = merges
        self.ranks = {merge: rank for rank, merge in enumerate(merges)}
        tokens = [BYTE_TO_CHARACTER[byte] for byte in range(256)] + ["".join(merge) for merge in merges]
        self.tokens = list(dict.fromkeys(tokens)) + list(SPECIALS)
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        self.seen = {}

    def merge(self, piece):
        """The symbols of one pre-token after all merges, lowest rank first."""
        symbols = list(piece)
        while len(symbols) > 1:
            rank, pair = min((self.ranks.get(pair, len(self.ranks)), pair) for pair in zip(symbols, symbols[1:]))
            if rank == len(self.ranks):
                break
            symbols = merged(symbols, *pair)
        return symbols

    def encode(self, text):
        """Token ids of `text`; special tokens written in it become themselves."""
        ids = []
        for part in SPECIAL.split(text):
            if part in SPECIALS:
                ids.append(self.ids[part])
                continue
            for piece in pretokens(part):
                if piece not in self.seen:
                    self.seen[piece] = [self.ids[symbol] for symbol in self.merge(piece)]
                ids += self.seen[piece]
        return ids

    def text(self, ids):
        """The text of `ids` with the tags of tool calls, without control tokens."""
        names = [self.tokens[number] for number in ids if self.tokens[number] not in CONTROL]
        parts, plain = [], []
        for name in [*names, ""]:
            if name and name not in TAGS:
                plain.append(name)
                continue
            parts += [self.decode_plain(plain), name]
            plain = []
        return "".join(parts)

    def decode(self, ids):
        """The text of `ids` without special tokens."""
        return self.decode_plain(self.tokens[number] for number in ids if self.tokens[number] not in SPECIALS)

    @staticmethod
    def decode_plain(plain):
        return bytes(CHARACTER_TO_BYTE[character] for token in plain for character in token).decode(errors="replace")

    def save(self, path):
        path.write_text(json.dumps(self.merges))

    @classmethod
    def load(cls, path):
        return cls([tuple(merge) for merge in json.loads(path.read_text())])
