# Prefixes of LiteLLM by which a chat reaches a server of one's own.
import litellm

from prompts import COUNT, LONG, NUMBERS, TOOL, City

OPENAI = ["openai", "hosted_vllm", "lm_studio", "llamafile"]
CHATS = [*OPENAI, "anthropic", "ollama_chat"]


def options(url, model, prefix):
    base = f"{url}/v1" if prefix in [*OPENAI, "text-completion-openai"] else url
    return {"model": f"{prefix}/{model}", "api_base": base, "api_key": "none"}


def chat(url, model, prefix, **fields):
    sent = {"messages": COUNT, "temperature": 0, "max_tokens": 64, "num_retries": 0, **fields}
    return litellm.completion(**options(url, model, prefix), **sent)


def check_chat(url, model):
    for prefix in CHATS:
        assert chat(url, model, prefix).choices[0].message.content == NUMBERS, prefix


def check_streamed_chat(url, model):
    for prefix in CHATS:
        whole = litellm.stream_chunk_builder(list(chat(url, model, prefix, stream=True)))
        assert whole.choices[0].message.content == NUMBERS, prefix


def check_schema(url, model):
    for prefix in CHATS:
        text = chat(url, model, prefix, response_format=City).choices[0].message.content
        assert City.model_validate_json(text), prefix


def check_tools(url, model):
    for prefix in [*OPENAI, "anthropic"]:
        call = chat(url, model, prefix, tools=[TOOL], tool_choice="required").choices[0].message.tool_calls[0].function
        assert call.name == "weather" and City.model_validate_json(call.arguments), prefix


def check_rendered_by_litellm(url, model):
    # LiteLLM renders the prompt of `ollama` in a form that the demo model was not trained for.
    assert chat(url, model, "ollama").choices[0].message.content
    text = chat(url, model, "ollama", response_format=City).choices[0].message.content
    assert City.model_validate_json(text)


def check_text(url, model):
    assert chat(url, model, "text-completion-openai").choices[0].message.content


def check_embeddings(url, model):
    for prefix in ["openai", "hosted_vllm", "lm_studio", "ollama"]:
        assert len(litellm.embedding(**options(url, model, prefix), input=["a", "b"]).data) == 2, prefix


def check_long_prompt(url, model):
    # LiteLLM knows no error of Ollama's for long prompts.
    for prefix in [*OPENAI, "anthropic"]:
        try:
            chat(url, model, prefix, messages=LONG)
            raise AssertionError(prefix)
        except litellm.ContextWindowExceededError:
            pass
