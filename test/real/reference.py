# texts WHEEL OUT: the translations in Django's wheel, 10,000 texts of all its languages in turn.
# encode TOKENIZER TEXTS OUT: the token ids of the `tokenizers` library, without special tokens.
import ast
import itertools
import json
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


command, *arguments, out = sys.argv[1:]
with open(out, "w") as file:
    json.dump({"texts": translations, "encode": encode}[command](*arguments), file)
