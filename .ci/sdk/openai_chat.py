"""Drives OpenAI's Python library against Sluice. Each line on standard output names a topic that passed."""

import json
import os

import openai
from pydantic import BaseModel

client = openai.OpenAI()  # OPENAI_BASE_URL and OPENAI_API_KEY
question = [{"role": "user", "content": "What is a sluice?"}]
tools = [
    {
        "type": "function",
        "function": {
            "name": "water_level",
            "description": "The level of a river",
            "parameters": {
                "type": "object",
                "properties": {"river": {"type": "string"}},
                "required": ["river"],
            },
        },
    }
]


def passed(topic):
    print(topic, flush=True)


def models():
    names = [model.id for model in client.models.list()]
    assert "llm-plus" in names and "gpt-4o" in names, names
    assert client.models.retrieve("llm-plus").owned_by == "service"
    try:
        client.models.retrieve("gone")
        raise AssertionError("a model that is not there")
    except openai.NotFoundError as e:
        assert e.code == "model_not_found", e.code


def chat():
    raw = client.chat.completions.with_raw_response.create(model="llm-plus", messages=question)
    answer = raw.parse()
    choice = answer.choices[0]
    assert answer.object == "chat.completion" and answer.model == "llm-plus", answer
    assert choice.message.role == "assistant" and choice.message.content and choice.finish_reason == "stop", choice
    assert answer._request_id == raw.headers["sluice-request-id"], answer._request_id
    by_alias = client.chat.completions.create(model="gpt-4o", messages=question)
    assert by_alias.model == "gpt-4o", by_alias.model
    return choice.message.content


def usage():
    answer = client.chat.completions.create(model="llm-plus", messages=question, max_tokens=5)
    used = answer.usage
    assert used.completion_tokens == 5 and used.prompt_tokens > 0, used
    assert used.total_tokens == used.prompt_tokens + used.completion_tokens, used
    assert answer.choices[0].finish_reason == "length", answer


def stream(whole):
    text, last = "", None
    for chunk in client.chat.completions.create(
        model="llm-plus", messages=question, stream=True, stream_options={"include_usage": True}
    ):
        last = chunk
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
    assert text == whole, (text, whole)
    assert not last.choices and last.usage.total_tokens > 0, last
    with client.chat.completions.stream(model="llm-plus", messages=question) as events:
        for _ in events:
            pass
        assert events.get_final_completion().choices[0].message.content == whole


def call_tools():
    ask = [{"role": "user", "content": "Which water_level has the Elbe?"}]
    answer = client.chat.completions.create(model="llm-plus", messages=ask, tools=tools)
    choice = answer.choices[0]
    call = choice.message.tool_calls[0]
    assert choice.finish_reason == "tool_calls" and choice.message.content is None, choice
    assert call.function.name == "water_level" and "river" in json.loads(call.function.arguments), call
    name, arguments = "", ""
    for chunk in client.chat.completions.create(model="llm-plus", messages=ask, tools=tools, stream=True):
        for part in chunk.choices[0].delta.tool_calls or []:
            name += part.function.name or ""
            arguments += part.function.arguments or ""
    assert name == "water_level" and json.loads(arguments) == json.loads(call.function.arguments), (name, arguments)
    back = ask + [choice.message, {"role": "tool", "tool_call_id": call.id, "content": "2.1 m"}]
    end = client.chat.completions.create(model="llm-plus", messages=back, tools=tools)
    assert end.choices[0].finish_reason == "stop" and end.choices[0].message.content, end


class River(BaseModel):
    name: str
    length_km: int


def structured():
    answer = client.chat.completions.parse(
        model="llm-plus", messages=[{"role": "user", "content": "A river as JSON"}], response_format=River
    )
    assert isinstance(answer.choices[0].message.parsed, River), answer


def pictures_in():
    answer = client.chat.completions.create(
        model="llm-vl",
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": "https://pictures.example/mill.png"}},
                ],
            }
        ],
    )
    assert answer.choices[0].message.content, answer


def errors():
    def refused(kind, code, param, **change):
        request = {"model": "llm-plus", "messages": question, **change}
        try:
            client.chat.completions.create(**request)
        except kind as e:
            assert type(e) is kind and e.code == code and e.param == param, (e.code, e.param, e)
            return
        raise AssertionError(f"not refused: {change}")

    refused(openai.BadRequestError, "InvalidParameter", "top_p", top_p=3)
    refused(openai.BadRequestError, "InvalidParameter", "logit_bias", logit_bias={"1": -100})
    refused(openai.NotFoundError, "model_not_found", "model", model="secret-model")
    stranger = client.with_options(api_key="slk_wrong")
    try:
        stranger.chat.completions.create(model="llm-plus", messages=question)
        raise AssertionError("a wrong key")
    except openai.AuthenticationError as e:
        assert e.type == "authentication_error" and e.request_id, e


def retries():
    """The flaky way answers every first attempt with this status, and passes on the next."""
    for status in (429, 503):
        flaky = client.with_options(base_url=f"{os.environ['FLAKY']}/{status}/v1", max_retries=1)
        assert flaky.chat.completions.create(model="llm-plus", messages=question).choices, status


models(), passed("models")
content = chat()
passed("chat")
usage(), passed("usage")
stream(content), passed("stream")
call_tools(), passed("tools")
structured(), passed("structured output")
pictures_in(), passed("pictures in a chat")
errors(), passed("errors")
retries(), passed("retries")
