# texts WHEEL OUT: the translations in Django's wheel, 10,000 texts of all its languages in turn.
# encode TOKENIZER TEXTS OUT: the token ids of the `tokenizers` library, without special tokens.
# embed SAFETENSORS TOKENIZER TEXTS OUT: the vectors of all-MiniLM-L6-v2, without the limit of 128 tokens.
import ast
import itertools
import json
import math
import os
import re
import sys
import zipfile


def translations(wheel):
    by_language = {}
    with zipfile.ZipFile(wheel) as files:
        for name in sorted(files.namelist()):
            match = re.match(r"django/.*locale/([^/]+)/LC_MESSAGES/django\.po$", name)
            if not match:
                continue
            catalogue = files.read(name).decode()
            for lines in re.findall(r'^msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\s*)+)', catalogue, re.MULTILINE):
                text = "".join(ast.literal_eval(line) for line in lines.split("\n") if line.strip())
                if text.strip():
                    by_language.setdefault(match[1], {})[text] = None
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*by_language.values()))
    return list(itertools.islice((text for text in in_turn if text), 10_000))


def encode(tokenizer, texts):
    from tokenizers import Tokenizer

    with open(texts) as file:
        encodings = Tokenizer.from_file(tokenizer).encode_batch(json.load(file), add_special_tokens=False)
    return [encoding.ids for encoding in encodings]


def embed(safetensors, tokenizer, texts):
    """The mean of BERT's last hidden states, scaled to length 1."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # its threads spin
    import numpy as np
    from tokenizers import Tokenizer

    with open(safetensors, "rb") as file:
        data = file.read()
    size = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if entry.get("dtype") == "F32":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            weights[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    grid = np.linspace(-6, 6, 24001)
    erf_of_grid = np.array([math.erf(x) for x in grid])

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * weights[name + ".weight"] + weights[name + ".bias"]

    def attention(x, name):
        heads = [linear(x, f"{name}.self.{part}").reshape(len(x), 12, 32) for part in ("query", "key", "value")]
        query, key, value = (head.transpose(1, 0, 2) for head in heads)
        scores = np.exp(query @ key.transpose(0, 2, 1) / np.sqrt(32))
        mixed = scores / scores.sum(-1, keepdims=True) @ value
        return linear(mixed.transpose(1, 0, 2).reshape(len(x), 384), f"{name}.output.dense")

    def vector(ids):
        kinds = ("word_embeddings", ids), ("position_embeddings", range(len(ids))), ("token_type_embeddings", [0])
        x = norm(sum(weights[f"embeddings.{kind}.weight"][list(rows)] for kind, rows in kinds), "embeddings.LayerNorm")
        for layer in range(6):
            name = f"encoder.layer.{layer}"
            x = norm(x + attention(x, f"{name}.attention"), f"{name}.attention.output.LayerNorm")
            hidden = linear(x, f"{name}.intermediate.dense")
            hidden = (hidden * (1 + np.interp(hidden / math.sqrt(2), grid, erf_of_grid)) / 2).astype("<f4")
            x = norm(x + linear(hidden, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        mean = x.mean(0)
        return (mean / np.linalg.norm(mean)).tolist()

    with open(texts) as file:
        return [vector(encoding.ids) for encoding in Tokenizer.from_file(tokenizer).encode_batch(json.load(file))]


command, *arguments, out = sys.argv[1:]
with open(out, "w") as file:
    json.dump({"texts": translations, "encode": encode, "embed": embed}[command](*arguments), file)
