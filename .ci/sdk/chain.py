"""Drives LangChain's ChatOpenAI against Sluice. Each line on standard output names a topic that passed."""

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

model = ChatOpenAI(model="llm-plus", stream_usage=True)  # OPENAI_BASE_URL and OPENAI_API_KEY
question = "What is a sluice?"


@tool
def water_level(river: str) -> str:
    """The level of a river."""
    return "2.1 m"


class River(BaseModel):
    """A river."""

    name: str
    length_km: int


answer = model.invoke(question)
assert answer.content and answer.usage_metadata["total_tokens"] > 0, answer
print("chat", flush=True)

parts = list(model.stream(question))
whole = parts[0]
for part in parts[1:]:
    whole += part
assert len(parts) > 2 and whole.content == answer.content, (whole.content, answer.content)
assert whole.usage_metadata["total_tokens"] == answer.usage_metadata["total_tokens"], whole.usage_metadata
print("stream", flush=True)

bound = model.bind_tools([water_level])
ask = HumanMessage("Which water_level has the Elbe?")
called = bound.invoke([ask])
assert called.tool_calls[0]["name"] == "water_level" and "river" in called.tool_calls[0]["args"], called
streamed = None
for part in bound.stream([ask]):
    streamed = part if streamed is None else streamed + part
assert streamed.tool_calls[0]["args"] == called.tool_calls[0]["args"], streamed.tool_calls
result = ToolMessage(water_level.invoke(called.tool_calls[0]["args"]), tool_call_id=called.tool_calls[0]["id"])
assert bound.invoke([ask, called, result]).content
print("tools", flush=True)

assert isinstance(model.with_structured_output(River).invoke("A river as JSON"), River)
print("structured output", flush=True)
