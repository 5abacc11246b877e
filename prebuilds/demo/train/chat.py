"""Conversations as tokens, in the form that chat_template.jinja writes."""


def prompt_text(messages):
    """The text before an answer to `messages`, without tools."""
    turns = "".join(f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in messages)
    return turns + "<|im_start|>assistant\n"


def training_tokens(tokenizer, messages):
    """Token ids of a conversation, and for each whether it is part of an answer (end of turn included)."""
    ids, is_answer = [], []
    for turn in messages:
        head = tokenizer.encode(f"<|im_start|>{turn['role']}\n")
        body = tokenizer.encode(turn["content"] + "<|im_end|>")
        tail = tokenizer.encode("\n")
        ids += head + body + tail
        answers = turn["role"] == "assistant"
        is_answer += [False] * len(head) + [answers] * len(body) + [False] * len(tail)
    return ids, is_answer
