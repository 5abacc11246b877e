import tempfile

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import ToolFunction, tool
from inspect_ai.util import json_schema

from prompts import COUNT, NUMBERS, City, weather

LOGS = tempfile.TemporaryDirectory()
SAMPLES = [Sample(input=COUNT[0]["content"], target=NUMBERS)]


def run(url, model, provider="openai-api/own", base="/v1", solver=generate(), arguments={}, **options):
    config = GenerateConfig(temperature=0, max_tokens=128, max_retries=0, **options)
    asked = get_model(f"{provider}/{model}", base_url=url + base, api_key="none", config=config, memoize=False, **arguments)
    # A directory that outlives the call: samples are read from the log on demand.
    [log] = evaluate(Task(SAMPLES, solver=solver, scorer=includes()), model=asked, display="none", log_dir=LOGS.name)
    assert log.status == "success", log.error
    return log


def check_text(url, model):
    for provider, base, arguments in [
        ("openai-api/own", "/v1", {}),
        ("openai", "/v1", {"responses_api": True}),
        ("anthropic", "", {}),
    ]:
        log = run(url, model, provider, base, arguments=arguments)
        assert log.results.scores[0].metrics["accuracy"].value == 1, provider


def check_tool(url, model):
    @tool
    def the_weather():
        async def execute(city: str):
            """The weather of a city.

            Args:
                city: The city.
            """
            return weather(city)

        return execute

    solver = [use_tools(the_weather(), tool_choice=ToolFunction("the_weather")), generate()]
    messages = run(url, model, solver=solver).samples[0].messages
    assert [message.role for message in messages][:3] == ["user", "assistant", "tool"]


def check_schema(url, model):
    schema = ResponseSchema(name="city", json_schema=json_schema(City))
    assert City.model_validate_json(run(url, model, response_schema=schema).samples[0].output.completion)


def check_logprobs(url, model):
    choice = run(url, model, logprobs=True, top_logprobs=2).samples[0].output.choices[0]
    assert "".join(token.token for token in choice.logprobs.content) == NUMBERS
