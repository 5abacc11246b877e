import openai

from prompts import COUNT, FUNCTION, NUMBERS, TOOL, City


def client(url):
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def check_models(url, model):
    assert [entry.id for entry in client(url).models.list()] == [model]
    assert client(url).models.retrieve(model).id == model


def check_chat(url, model):
    reply = client(url).chat.completions.create(model=model, messages=COUNT, temperature=0)
    assert reply.choices[0].message.content == NUMBERS
    assert reply.usage.completion_tokens_details.reasoning_tokens == 0


def check_streamed_chat(url, model):
    with client(url).chat.completions.stream(model=model, messages=COUNT, temperature=0) as stream:
        text = "".join(event.delta for event in stream if event.type == "content.delta")
    assert text == NUMBERS == stream.get_final_completion().choices[0].message.content


def check_parsed_chat(url, model):
    reply = client(url).chat.completions.parse(model=model, messages=COUNT, response_format=City)
    assert reply.choices[0].message.parsed.city in ("Cuzco", "Lima")


def check_tools(url, model):
    reply = client(url).chat.completions.create(model=model, messages=COUNT, tools=[TOOL], tool_choice="required")
    call = reply.choices[0].message.tool_calls[0].function
    assert call.name == "weather" and City.model_validate_json(call.arguments)


def check_old_functions(url, model):
    choice = {"name": "weather"}
    reply = client(url).chat.completions.create(model=model, messages=COUNT, functions=[FUNCTION], function_call=choice)
    assert City.model_validate_json(reply.choices[0].message.function_call.arguments)


def check_completion(url, model):
    reply = client(url).completions.create(model=model, prompt="Count", max_tokens=4, logprobs=2, temperature=0)
    choice = reply.choices[0]
    assert "".join(choice.logprobs.tokens) == choice.text != ""


def check_embeddings(url, model):
    reply = client(url).embeddings.create(model=model, input=["a", "b"], dimensions=16)
    assert [len(entry.embedding) for entry in reply.data] == [16, 16]


def check_responses(url, model):
    responses = client(url).responses
    first = responses.create(model=model, input="Count from 3 to 9", temperature=0)
    assert first.output_text == NUMBERS and responses.retrieve(first.id).output_text == NUMBERS
    after = responses.create(model=model, input="Go on", previous_response_id=first.id, max_output_tokens=4)
    assert after.usage.input_tokens > first.usage.total_tokens
    with responses.stream(model=model, input="Count from 3 to 9", temperature=0) as stream:
        assert [event.type for event in stream][-1] == "response.completed"
    assert stream.get_final_response().output_text == NUMBERS


def check_files(url, model):
    files = client(url).files
    stored = files.create(file=("a.txt", b"Llamas"), purpose="user_data")
    assert files.content(stored.id).read() == b"Llamas"
    assert files.delete(stored.id).deleted


def check_unknown_model(url, model):
    try:
        client(url).chat.completions.create(model="none", messages=COUNT)
        raise AssertionError("no error")
    except openai.NotFoundError as error:
        assert error.code == "model_not_found"
