import instructor
import openai

from prompts import COUNT, City


def client(url, mode):
    return instructor.from_openai(openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0), mode=mode)


def check_modes(url, model):
    modes = instructor.Mode
    for mode in (modes.TOOLS, modes.TOOLS_STRICT, modes.JSON_SCHEMA, modes.RESPONSES_TOOLS):
        reply = client(url, mode).create(model=model, response_model=City, max_retries=0, messages=COUNT)
        assert reply.city in ("Cuzco", "Lima"), mode


def check_partial(url, model):
    stream = client(url, instructor.Mode.TOOLS).create_partial(model=model, response_model=City, messages=COUNT)
    assert list(stream)[-1].city in ("Cuzco", "Lima")
