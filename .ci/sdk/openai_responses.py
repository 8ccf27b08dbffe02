"""Drives OpenAI's Python library against Sluice's Responses. Each line on standard output names a topic that passed."""

import json

import openai
from pydantic import BaseModel

client = openai.OpenAI()  # OPENAI_BASE_URL and OPENAI_API_KEY
question = "What is a sluice?"
tools = [
    {
        "type": "function",
        "name": "water_level",
        "description": "The level of a river",
        "parameters": {"type": "object", "properties": {"river": {"type": "string"}}, "required": ["river"]},
    },
    {"type": "web_search"},
]


def passed(topic):
    print(topic, flush=True)


def create():
    answer = client.responses.create(model="llm-plus", instructions="Be brief.", input=question)
    assert answer.object == "response" and answer.status == "completed" and answer.model == "llm-plus", answer
    assert answer.output_text and answer.store is False, answer
    by_alias = client.responses.create(model="gpt-4o", input=[{"role": "user", "content": question}])
    assert by_alias.model == "gpt-4o" and by_alias.output_text, by_alias
    return answer.output_text


def usage():
    answer = client.responses.create(model="llm-plus", input=question, max_output_tokens=16)
    used = answer.usage
    assert answer.status == "incomplete" and answer.incomplete_details.reason == "max_output_tokens", answer
    assert used.output_tokens == 16 and used.total_tokens == used.input_tokens + 16, used
    assert used.input_tokens_details.cached_tokens == 0 and used.output_tokens_details.reasoning_tokens == 0, used


def stream(whole):
    text, numbers = "", []
    for event in client.responses.create(model="llm-plus", instructions="Be brief.", input=question, stream=True):
        numbers.append(event.sequence_number)
        if event.type == "response.output_text.delta":
            text += event.delta
    assert text == whole and event.type == "response.completed" and event.response.output_text == whole, (text, event)
    assert event.response.usage.total_tokens > 0 and numbers == list(range(len(numbers))), numbers
    with client.responses.stream(model="llm-plus", instructions="Be brief.", input=question) as events:
        for _ in events:
            pass
        assert events.get_final_response().output_text == whole


def thinking():
    answer = client.responses.create(model="llm-plus", input=question, reasoning={"effort": "medium", "summary": "auto"})
    kinds = [item.type for item in answer.output]
    assert kinds == ["reasoning", "message"] and answer.output[0].summary[0].text, kinds
    assert answer.usage.output_tokens_details.reasoning_tokens > 0, answer.usage
    back = [{"role": "user", "content": question}, *answer.output, {"role": "user", "content": "Go on."}]
    assert client.responses.create(model="llm-plus", input=back).output_text


def call_tools():
    ask = [{"role": "user", "content": "Which water_level has the Elbe?"}]
    raw = client.responses.with_raw_response.create(model="llm-plus", input=ask, tools=tools)
    assert "web_search" in raw.headers["sluice-warning"], raw.headers
    call = raw.parse().output[0]
    assert call.type == "function_call" and call.name == "water_level" and "river" in json.loads(call.arguments), call
    with client.responses.stream(model="llm-plus", input=ask, tools=tools) as events:
        for _ in events:
            pass
        streamed = events.get_final_response().output[0]
    assert streamed.name == call.name and json.loads(streamed.arguments) == json.loads(call.arguments), streamed
    forced = client.responses.create(model="llm-plus", input="Hello", tools=tools, tool_choice="required")
    assert forced.output[0].name == "water_level", forced
    back = ask + [call, {"type": "function_call_output", "call_id": call.call_id, "output": "2.1 m"}]
    end = client.responses.create(model="llm-plus", input=back, tools=tools)
    assert end.status == "completed" and end.output_text, end


def custom_tools():
    ask = "Use the patch tool."
    patch = [{"type": "custom", "name": "patch", "description": "Edits files"}]
    answer = client.responses.create(model="llm-plus", input=ask, tools=patch)
    call = answer.output[0]
    assert call.type == "custom_tool_call" and call.name == "patch" and call.input, call
    pieces = ""
    for event in client.responses.create(model="llm-plus", input=ask, tools=patch, stream=True):
        if event.type == "response.custom_tool_call_input.delta":
            pieces += event.delta
    assert pieces == call.input, pieces
    back = [{"role": "user", "content": ask}, call, {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "Done"}]
    assert client.responses.create(model="llm-plus", input=back, tools=patch).output_text


class River(BaseModel):
    name: str
    length_km: int


def structured():
    answer = client.responses.parse(model="llm-plus", input="A river as JSON", text_format=River)
    assert isinstance(answer.output_parsed, River), answer


def pictures_in():
    content = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "detail": "auto", "image_url": "https://pictures.example/mill.png"},
    ]
    assert client.responses.create(model="llm-vl", input=[{"role": "user", "content": content}]).output_text


def errors():
    def refused(kind, code, param, **change):
        request = {"model": "llm-plus", "input": question, **change}
        try:
            client.responses.create(**request)
        except kind as e:
            assert type(e) is kind and e.code == code and e.param == param, (e.code, e.param, e)
            return str(e)
        raise AssertionError(f"not refused: {change}")

    assert "parameters." not in refused(openai.BadRequestError, "InvalidParameter", "top_p", top_p=3)
    refused(openai.BadRequestError, "InvalidParameter", "max_output_tokens", max_output_tokens=0)
    refused(openai.BadRequestError, "InvalidParameter", "previous_response_id", previous_response_id="resp_1")
    refused(openai.BadRequestError, "InvalidParameter", "tool_choice", tools=tools, tool_choice={"type": "web_search"})
    refused(openai.NotFoundError, "model_not_found", "model", model="secret-model")
    try:
        client.responses.retrieve("resp_1")
        raise AssertionError("a response that was kept")
    except openai.NotFoundError as e:
        assert "No response is kept" in str(e), e


content = create()
passed("create")
usage(), passed("usage")
stream(content), passed("stream")
thinking(), passed("thinking")
call_tools(), passed("tools")
custom_tools(), passed("custom tools")
structured(), passed("structured output")
pictures_in(), passed("pictures")
errors(), passed("errors")
