"""Conversations as tokens, in the form that chat_template.jinja writes."""

import json

TOOLS_BEFORE = ("# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with "
                "function signatures within <tools></tools> XML tags:\n<tools>")
TOOLS_AFTER = ("\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
               "<tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, \"arguments\": "
               "<args-json-object>}\n</tool_call>")
# What mtmd puts in the place of a picture: the embeddings between two tokens.
PICTURE_TEXT = "<image>" + 64 * "<|image_pad|>" + "</image>"


def content_text(content):
    """The text of a message's content; pictures join their neighbours without blanks or line breaks."""
    parts = [content] if isinstance(content, str) else content
    return "".join(part if isinstance(part, str) else PICTURE_TEXT for part in parts)


def pictures_in(messages):
    return [part for turn in messages if not isinstance(turn["content"], str)
            for part in turn["content"] if not isinstance(part, str)]


def with_tools(messages, tools):
    """`messages` with the tools written into the system message."""
    if not tools:
        return messages
    offered = "".join("\n" + json.dumps(tool, ensure_ascii=False) for tool in tools)
    system = TOOLS_BEFORE + offered + TOOLS_AFTER
    if messages[0]["role"] == "system":
        return [{"role": "system", "content": messages[0]["content"] + "\n\n" + system}, *messages[1:]]
    return [{"role": "system", "content": system}, *messages]


def head_and_body(turn):
    """A message before and from the start of its content, end of turn included."""
    if turn["role"] == "tool":
        return "<|im_start|>user", f"\n<tool_response>\n{turn['content']}\n</tool_response><|im_end|>"
    return f"<|im_start|>{turn['role']}\n", content_text(turn["content"]) + "<|im_end|>"


def prompt_text(messages, tools=None):
    """The text before an answer to `messages`."""
    turns = "".join("".join(head_and_body(turn)) + "\n" for turn in with_tools(messages, tools))
    return turns + "<|im_start|>assistant\n"


def training_tokens(tokenizer, messages, tools=None):
    """Token ids of a conversation, and for each whether it is part of an answer (end of turn included)."""
    ids, is_answer = [], []
    for turn in with_tools(messages, tools):
        head, body, tail = (tokenizer.encode(text) for text in (*head_and_body(turn), "\n"))
        ids += head + body + tail
        answers = turn["role"] == "assistant"
        is_answer += [False] * len(head) + [answers] * len(body) + [False] * len(tail)
    return ids, is_answer
