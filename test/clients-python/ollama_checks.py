import ollama

from prompts import COUNT, NUMBERS, TOOL, City

GREEDY = {"temperature": 0}


def check_chat(url, model):
    reply = ollama.Client(url).chat(model, messages=COUNT, options=GREEDY)
    assert reply.message.content == NUMBERS and reply.done_reason == "stop"


def check_streamed_chat(url, model):
    pieces = list(ollama.Client(url).chat(model, messages=COUNT, options=GREEDY, stream=True))
    assert "".join(piece.message.content for piece in pieces) == NUMBERS and pieces[-1].done


def check_schema(url, model):
    reply = ollama.Client(url).chat(model, messages=COUNT, format=City.model_json_schema())
    assert City.model_validate_json(reply.message.content)


def check_tools(url, model):
    assert ollama.Client(url).chat(model, messages=COUNT, tools=[TOOL], options=GREEDY).done


def check_generate(url, model):
    client = ollama.Client(url)
    assert client.generate(model, prompt="Count from 3 to 9", options=GREEDY).response == NUMBERS
    assert client.generate(model).done_reason == "load"


def check_embeddings(url, model):
    reply = ollama.Client(url).embed(model, input=["a", "b"], dimensions=8)
    assert [len(vector) for vector in reply.embeddings] == [8, 8]


def check_models(url, model):
    client = ollama.Client(url)
    assert client.list().models[0].model.startswith(model) and client.ps().models[0].model.startswith(model)
    assert client.show(model).details.format == "gguf"


def check_unknown_model(url, model):
    try:
        ollama.Client(url).chat("none", messages=COUNT)
        raise AssertionError("no error")
    except ollama.ResponseError as error:
        assert error.status_code == 404
