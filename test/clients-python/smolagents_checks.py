from prompts import COUNT, NUMBERS
from smolagents import ChatMessage, OpenAIServerModel, tool

MESSAGES = [ChatMessage.from_dict(message) for message in COUNT]


@tool
def weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: The city.
    """
    return "sunny"


def client(url, model):
    return OpenAIServerModel(model_id=model, api_base=f"{url}/v1", api_key="none", temperature=0)


def check_stream(url, model):
    pieces = client(url, model).generate_stream(MESSAGES, stop_sequences=["Observation:"])
    assert "".join(piece.content or "" for piece in pieces) == NUMBERS


def check_tool(url, model):
    call = client(url, model).generate(MESSAGES, tools_to_call_from=[weather]).tool_calls[0].function
    assert call.name == "weather" and "city" in call.arguments
