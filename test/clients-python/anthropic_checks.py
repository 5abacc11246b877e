import anthropic

from prompts import COUNT, FUNCTION, NUMBERS, City


GREEDY = {"temperature": 0}


def client(url):
    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)


def ask(url, model, **fields):
    return client(url).messages.create(**{"model": model, "messages": COUNT, "max_tokens": 64, **fields})


def check_message(url, model):
    reply = ask(url, model, extra_body=GREEDY)
    assert reply.content[0].text == NUMBERS and reply.stop_reason == "end_turn"


def check_stream(url, model):
    with client(url).messages.stream(model=model, messages=COUNT, max_tokens=64, extra_body=GREEDY) as stream:
        assert "".join(stream.text_stream) == NUMBERS
    assert stream.get_final_message().usage.output_tokens > 5


def check_tools(url, model):
    tool = {"name": "weather", "description": "The weather.", "input_schema": FUNCTION["parameters"]}
    call = ask(url, model, tools=[tool], tool_choice={"type": "any"}).content[-1]
    assert call.name == "weather" and City.model_validate(call.input)


def check_parsed_message(url, model):
    reply = client(url).messages.parse(model=model, messages=COUNT, max_tokens=64, output_format=City)
    assert reply.parsed_output.city in ("Cuzco", "Lima")


def check_count(url, model):
    count = client(url).messages.count_tokens(model=model, messages=COUNT).input_tokens
    usage = ask(url, model).usage
    assert count == usage.input_tokens + usage.cache_read_input_tokens


def check_models(url, model):
    assert [entry.id for entry in client(url).models.list()] == [model]


def check_unknown_model(url, model):
    try:
        ask(url, "none")
        raise AssertionError("no error")
    except anthropic.NotFoundError as error:
        assert error.request_id and error.body["error"]["type"] == "not_found_error"
