"""Asks a running server 500 held-out prompts of each kind, greedily, and prints how many answers were exactly right.

    python3 prebuilds/demo/train/measure.py --url http://127.0.0.1:8080

Needs nothing but Python. Ends with status 1 when a kind falls below --least.
"""

import argparse
import json
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from corpus import HELD_OUT_KINDS, held_out_prompts


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="the server, without /v1")
    parser.add_argument("--model", help="model name to send; default: the first one the server lists")
    parser.add_argument("--count", type=int, default=500, help="prompts of each kind")
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


def ask(url, model, prompt):
    """The greedy answer to a prompt, and why it ended."""
    body = {"model": model, "messages": prompt.messages, "temperature": 0, "max_tokens": 200}
    reply = request(f"{url}/v1/chat/completions", body)
    choice = reply["choices"][0]
    return choice["message"]["content"], choice["finish_reason"]


def measure(kind, options, model):
    """Shares of exactly right answers and of answers that ended by themselves; prints some wrong ones."""
    prompts = held_out_prompts(kind, options.count)
    with ThreadPoolExecutor(options.connections) as pool:
        replies = list(pool.map(lambda prompt: ask(options.url, model, prompt), prompts))
    wrong = [(prompt, answer) for prompt, (answer, _) in zip(prompts, replies) if answer != prompt.answer]
    for prompt, answer in wrong[:options.wrong]:
        print(f"  {prompt.messages[-1]['content']!r}\n    said   {answer!r}\n    wanted {prompt.answer!r}")
    stopped = sum(reason == "stop" for _, reason in replies)
    return 1 - len(wrong) / options.count, stopped / options.count


def main():
    options = arguments()
    options.url = options.url.rstrip("/")
    model = options.model or request(f"{options.url}/v1/models")["data"][0]["id"]
    print("| kind | prompts | right | stopped by itself |\n| --- | --- | --- | --- |")
    lowest = 1
    for kind in HELD_OUT_KINDS:
        right, stopped = measure(kind, options, model)
        lowest = min(lowest, right, stopped)
        print(f"| {kind} | {options.count} | {right:.1%} | {stopped:.1%} |", flush=True)
    sys.exit(lowest < options.least)


if __name__ == "__main__":
    main()
