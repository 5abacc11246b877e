import re
from typing import Literal

import openai
import outlines

from prompts import City

PATTERN = "[0-9]{3}-[0-9]{2}"
GRAMMARS = {"from_vllm": 'start: "yes" | "no"', "from_sglang": 'root ::= "yes" | "no"'}


def check_constraints(url, model):
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    for name, grammar in GRAMMARS.items():
        generate = getattr(outlines, name)(client, model)
        assert generate("Hi", Literal["cat", "dog"]) in ("cat", "dog")
        assert re.fullmatch(PATTERN, generate("Hi", outlines.types.regex(PATTERN)))
        assert generate("Hi", outlines.types.CFG(grammar)) in ("yes", "no")
        assert City.model_validate_json("".join(generate.stream("Hi", City)))
