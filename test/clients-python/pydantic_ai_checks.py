import asyncio

from prompts import NUMBERS, City
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

PROMPT = "Count from 3 to 9"
GREEDY = {"temperature": 0}


def models(url, model):
    for kind in (OpenAIChatModel, OpenAIResponsesModel):
        yield kind(model, provider=OpenAIProvider(base_url=f"{url}/v1", api_key="none"), settings=GREEDY)


def check_stream(url, model):
    async def text(agent):
        async with agent.run_stream(PROMPT) as result:
            return await result.get_output()

    for each in models(url, model):
        assert asyncio.run(text(Agent(each))) == NUMBERS


def check_outputs(url, model):
    for kind in (NativeOutput, ToolOutput):
        for each in models(url, model):
            result = asyncio.run(Agent(each, output_type=kind(City), retries=0).run(PROMPT))
            assert result.output.city in ("Cuzco", "Lima")
