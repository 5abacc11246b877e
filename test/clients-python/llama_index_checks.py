import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike

from prompts import COUNT, NUMBERS, City, weather

PROMPT = COUNT[0]["content"]
MESSAGES = [ChatMessage(role="user", content=PROMPT)]
WEATHER = FunctionTool.from_defaults(weather)


def client(url, model, **options):
    kind = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 2048, **options}
    return OpenAILike(model=model, api_base=f"{url}/v1", api_key="none", temperature=0, max_retries=0, **kind)


def check_chat(url, model):
    assert client(url, model).chat(MESSAGES).message.content == NUMBERS
    assert "".join(piece.delta or "" for piece in client(url, model).stream_chat(MESSAGES)) == NUMBERS


def check_text(url, model):
    texts = client(url, model, is_chat_model=False, max_tokens=8)
    whole = texts.complete("Count").text
    assert whole and "".join(piece.delta for piece in texts.stream_complete("Count")) == whole


def check_schema(url, model):
    structured = client(url, model, should_use_structured_outputs=True).as_structured_llm(City)
    assert structured.complete(PROMPT).raw.city in ("Cuzco", "Lima")


def check_tool(url, model):
    llm = client(url, model)
    *_, last = llm.stream_chat_with_tools([WEATHER], user_msg=PROMPT, tool_required=True)
    [call] = llm.get_tool_calls_from_response(last)
    assert call.tool_name == "weather" and "city" in call.tool_kwargs
    assert str(llm.predict_and_call([WEATHER], user_msg=PROMPT, tool_required=True)) == "sunny"


def check_agent(url, model):
    async def run():
        return await FunctionAgent(llm=client(url, model), tools=[weather]).run(PROMPT)

    assert str(asyncio.run(run()))


def check_embeddings(url, model):
    embedding = OpenAILikeEmbedding(model_name=model, api_base=f"{url}/v1", api_key="none")
    one, other = embedding.get_text_embedding_batch(["a", "b"])
    assert len(one) == len(other) > 0
