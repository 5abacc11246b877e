import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import UserMessage
from autogen_core.tools import FunctionTool
from autogen_ext.models.openai import OpenAIChatCompletionClient

from prompts import COUNT, NUMBERS, City, weather

PROMPT = COUNT[0]["content"]
MESSAGES = [UserMessage(content=PROMPT, source="user")]
ABILITIES = {"vision": False, "function_calling": True, "json_output": True, "structured_output": True, "family": "unknown"}


def run(url, model, do):
    async def do_with_client():
        options = {"base_url": f"{url}/v1", "api_key": "none", "max_retries": 0, "temperature": 0}
        client = OpenAIChatCompletionClient(model=model, model_info=ABILITIES, **options)
        await do(client)
        await client.close()

    asyncio.run(do_with_client())


async def last(stream):
    return [piece async for piece in stream][-1]


def check_text(url, model):
    async def do(client):
        assert (await client.create(MESSAGES)).content == NUMBERS
        streamed = await last(client.create_stream(MESSAGES, include_usage=True))
        assert streamed.content == NUMBERS and streamed.usage.completion_tokens > 0

    run(url, model, do)


def check_tool(url, model):
    async def do(client):
        options = {"tools": [FunctionTool(weather, description="The weather.", strict=True)], "tool_choice": "required"}
        for reply in (await client.create(MESSAGES, **options), await last(client.create_stream(MESSAGES, **options))):
            [call] = reply.content
            assert call.name == "weather" and "city" in call.arguments

    run(url, model, do)


def check_schema(url, model):
    async def do(client):
        assert City.model_validate_json((await client.create(MESSAGES, json_output=City)).content)

    run(url, model, do)


def check_agent(url, model):
    async def do(client):
        agent = AssistantAgent("agent", model_client=client, tools=[weather], model_client_stream=True)
        assert (await agent.run(task=PROMPT)).messages[-1].content

    run(url, model, do)
