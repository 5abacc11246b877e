import asyncio

import openai
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool
from agents import set_tracing_disabled
from prompts import City

set_tracing_disabled(True)
PROMPT = "Count from 3 to 9"


@function_tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "sunny"


def run(url, model, settings, do, **options):
    async def do_with(kind):
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            chosen = {"model": kind(model, client), "model_settings": ModelSettings(temperature=0, **settings)}
            await do(Agent(name="agent", **chosen, **options))

    for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel):
        asyncio.run(do_with(kind))


def check_output(url, model):
    async def do(agent):
        assert (await Runner.run(agent, PROMPT)).final_output.city in ("Cuzco", "Lima")

    run(url, model, {}, do, output_type=City)


def check_streamed_tool(url, model):
    async def do(agent):
        result = Runner.run_streamed(agent, PROMPT)
        events = [event async for event in result.stream_events()]
        names = [event.name for event in events if event.type == "run_item_stream_event"]
        assert names[:2] == ["tool_called", "tool_output"] and result.final_output, names

    run(url, model, {"tool_choice": "required", "max_tokens": 60}, do, tools=[weather])
