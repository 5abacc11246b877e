"""Asks a running server 500 held-out prompts of each kind, greedily, and prints how many answers were exactly right.

    python3 prebuilds/demo/train/measure.py --url http://127.0.0.1:8080

Needs Pillow to draw the pictures, which go as data URIs, PNG and JPEG in turn. Ends with status 1 when a kind falls
below --least.
"""

import argparse
import base64
import json
import random
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from chat import with_tools
from pictures import encoded
from talks import KINDS, PICTURE_KINDS, TOOL_KINDS, held_out_prompts
from toolbox import call

GROUPS = {"text": [kind for kind in KINDS if kind not in PICTURE_KINDS and kind not in TOOL_KINDS],
          "pictures": list(PICTURE_KINDS), "tools": list(TOOL_KINDS)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="the server, without /v1")
    parser.add_argument("--model", help="model name to send; default: the first one the server lists")
    parser.add_argument("--count", type=int, default=500, help="prompts of each kind")
    parser.add_argument("--groups", default="text,pictures,tools", help="which kinds to ask: text, pictures, tools")
    parser.add_argument("--tools", choices=("offered", "written"), default="offered",
                        help="offered: in the request's `tools`; written: in the messages, as the template writes them")
    parser.add_argument("--connections", type=int, default=8, help="requests at a time")
    parser.add_argument("--least", type=float, default=0.95, help="share of right answers that every kind must reach")
    parser.add_argument("--wrong", type=int, default=0, help="wrong answers to print for each kind")
    return parser.parse_args()


def request(url, body=None):
    """The JSON reply; a body makes it a POST."""
    data = None if body is None else json.dumps(body).encode()
    message = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(message, timeout=600) as reply:
        return json.load(reply)


def data_uri(picture, kind):
    return f"data:image/{kind};base64,{base64.b64encode(encoded(picture.image, kind, random.Random(0))).decode()}"


def sent(turn, kind):
    """A message as it goes over HTTP; its pictures are written as `kind`."""
    if isinstance(turn["content"], str):
        return turn
    parts = [{"type": "text", "text": part} if isinstance(part, str) else
             {"type": "image_url", "image_url": {"url": data_uri(part, kind)}} for part in turn["content"]]
    return {"role": turn["role"], "content": parts}


def structured(messages):
    """Written tool calls as `tool_calls`, and the results with their ids."""
    turns = []
    for number, turn in enumerate(messages):
        if turn["role"] == "assistant" and turn["content"].startswith("<tool_call>"):
            said = json.loads(turn["content"].removeprefix("<tool_call>").removesuffix("</tool_call>"))
            function = {"name": said["name"], "arguments": json.dumps(said["arguments"], ensure_ascii=False)}
            calls = [{"id": f"call_{number}", "type": "function", "function": function}]
            turns.append({"role": "assistant", "content": None, "tool_calls": calls})
        else:
            turns.append(turn | {"tool_call_id": f"call_{number - 1}"} if turn["role"] == "tool" else turn)
    return turns


def written(messages, tools):
    """Tools, calls and results in plain messages, so that the template makes the same text of them."""
    return [{"role": "user", "content": f"<tool_response>\n{turn['content']}\n</tool_response>"}
            if turn["role"] == "tool" else turn for turn in with_tools(messages, tools)]


def ask(options, number, prompt):
    """The greedy answer to a prompt, and why it ended."""
    messages = [sent(turn, ("png", "jpeg")[number % 2]) for turn in prompt.messages]
    body = {"model": options.model, "messages": messages, "temperature": 0, "max_tokens": 200}
    tools = getattr(prompt, "tools", None)
    if tools and options.tools == "offered":
        body |= {"messages": structured(messages), "tools": tools}
    elif tools:
        body["messages"] = written(messages, tools)
    choice = request(f"{options.url}/v1/chat/completions", body)["choices"][0]
    said = [written_call(made["function"]) for made in choice["message"].get("tool_calls") or []]
    return "\n".join([choice["message"].get("content") or "", *said]).strip(), choice["finish_reason"]


def written_call(function):
    """As the template writes it; what is no such call, because it was cut off, as it came."""
    try:
        (argument,) = json.loads(function["arguments"]).items()
    except ValueError:
        return function["arguments"]
    return call(function["name"], *argument)


def measure(kind, options):
    """Shares of exactly right answers and of answers that ended by themselves; prints some wrong ones."""
    prompts = held_out_prompts(kind, options.count)
    with ThreadPoolExecutor(options.connections) as pool:
        replies = list(pool.map(lambda numbered: ask(options, *numbered), enumerate(prompts)))
    wrong = [(prompt, answer) for prompt, (answer, _) in zip(prompts, replies) if answer != prompt.answer]
    for prompt, answer in wrong[:options.wrong]:
        content = prompt.messages[-1]["content"]
        said = content if isinstance(content, str) else [part for part in content if isinstance(part, str)]
        print(f"  {said!r}\n    said   {answer!r}\n    wanted {prompt.answer!r}")
    stopped = sum(reason in ("stop", "tool_calls") for _, reason in replies)
    return 1 - len(wrong) / options.count, stopped / options.count


def main():
    options = arguments()
    options.url = options.url.rstrip("/")
    options.model = options.model or request(f"{options.url}/v1/models")["data"][0]["id"]
    print("| kind | prompts | right | stopped by itself |\n| --- | --- | --- | --- |")
    lowest = 1
    for kind in (kind for group in options.groups.split(",") for kind in GROUPS[group]):
        right, stopped = measure(kind, options)
        lowest = min(lowest, right, stopped)
        print(f"| {kind} | {options.count} | {right:.1%} | {stopped:.1%} |", flush=True)
    sys.exit(lowest < options.least)


if __name__ == "__main__":
    main()
