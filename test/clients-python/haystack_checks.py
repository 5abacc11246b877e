from haystack import Document
from haystack.components.agents import Agent
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator, OpenAIResponsesChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function
from haystack.utils import Secret

from prompts import COUNT, NUMBERS, City, weather

MESSAGES = [ChatMessage.from_user(COUNT[0]["content"])]
WEATHER = create_tool_from_function(weather)


def options(url, model):
    return {"api_key": Secret.from_token("none"), "model": model, "api_base_url": f"{url}/v1", "max_retries": 0}


def reply(url, model, kind=OpenAIChatGenerator, settings={}, **more):
    generator = kind(**options(url, model), generation_kwargs={"temperature": 0, **settings}, **more)
    return generator.run(MESSAGES)["replies"][0]


def check_text(url, model):
    for kind in (OpenAIChatGenerator, OpenAIResponsesChatGenerator):
        assert reply(url, model, kind).text == NUMBERS, kind
        pieces = []
        whole = reply(url, model, kind, streaming_callback=lambda piece: pieces.append(piece.content or ""))
        assert "".join(pieces) == whole.text == NUMBERS, kind


def check_tool(url, model):
    required = {"tool_choice": "required"}
    for kind in (OpenAIChatGenerator, OpenAIResponsesChatGenerator):
        for streamed in ({}, {"streaming_callback": lambda piece: None}):
            call = reply(url, model, kind, required, tools=[WEATHER], tools_strict=True, **streamed).tool_calls[0]
            assert call.tool_name == "weather" and "city" in call.arguments, kind


def check_schema(url, model):
    assert City.model_validate_json(reply(url, model, settings={"response_format": City}).text)


def check_agent(url, model):
    agent = Agent(chat_generator=OpenAIChatGenerator(**options(url, model)), tools=[WEATHER], max_agent_steps=2)
    assert agent.run(messages=MESSAGES)["messages"][1].role == "assistant"


def check_embeddings(url, model):
    text = OpenAITextEmbedder(**options(url, model)).run("a")["embedding"]
    documents = OpenAIDocumentEmbedder(**options(url, model), progress_bar=False).run([Document(content="a")])
    assert len(documents["documents"][0].embedding) == len(text) > 0
