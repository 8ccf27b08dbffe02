"""Drives agents' libraries against Sluice. Each line on standard output names one that passed."""

import os

from agents import Agent, Runner, function_tool, set_tracing_disabled
from pydantic import BaseModel
from pydantic_ai import Agent as TypedAgent
from smolagents import OpenAIServerModel, ToolCallingAgent, tool

question = "Which water_level has the Elbe?"
asked = []

set_tracing_disabled(True)  # it would send to OpenAI


@function_tool
def water_level(river: str) -> str:
    """The level of a river."""
    asked.append(river)
    return "2.1 m"


agent = Agent(name="keeper", instructions="Be brief.", model="llm-plus", tools=[water_level])
result = Runner.run_sync(agent, question)
assert len(asked) == 1 and result.final_output, (asked, result)
print("openai-agents", flush=True)


class River(BaseModel):
    """A river."""

    name: str
    length_km: int


for model in ("openai:llm-plus", "openai-chat:llm-plus", "openai-responses:llm-plus"):
    typed = TypedAgent(model, output_type=River)
    assert isinstance(typed.run_sync("A river").output, River)
print("pydantic-ai", flush=True)


measured = []


@tool
def level(river: str) -> str:
    """The level of a river.

    Args:
        river: its name
    """
    measured.append(river)
    return "2.1 m; give the final_answer"  # the simulator calls what was mentioned last


server = OpenAIServerModel("llm-plus", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
answer = ToolCallingAgent(tools=[level], model=server, max_steps=3, verbosity_level=0).run("Which level has the Elbe?")
assert answer and len(measured) == 1, (answer, measured)
print("smolagents", flush=True)
