import dspy

from prompts import COUNT, NUMBERS


def answer(url, model, prefix="openai", base="/v1", **options):
    lm = dspy.LM(f"{prefix}/{model}", api_base=url + base, api_key="none", temperature=0, cache=False, **options)
    return lm(COUNT[0]["content"])[0]


def check_text(url, model):
    assert answer(url, model) == NUMBERS
    assert answer(url, model, "ollama_chat", "") == NUMBERS
    assert answer(url, model, model_type="responses")["text"] == NUMBERS
    assert answer(url, model, "text-completion-openai", model_type="text", max_tokens=8)


def check_embeddings(url, model):
    embedder = dspy.Embedder(f"openai/{model}", api_base=f"{url}/v1", api_key="none", caching=False)
    assert embedder(["a", "b"]).shape[0] == 2
