"""Drives Anthropic's Python library against Sluice. Each line on standard output names a topic that passed."""

import anthropic
import pydantic

client = anthropic.Anthropic()  # ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY
question = [{"role": "user", "content": "What is a sluice?"}]
tools = [
    {
        "name": "water_level",
        "description": "The level of a river",
        "input_schema": {"type": "object", "properties": {"river": {"type": "string"}}, "required": ["river"]},
    },
    {"type": "web_search_20250305", "name": "web_search"},
]


def passed(topic):
    print(topic, flush=True)


def models():
    names = [model.id for model in client.models.list()]
    assert "llm-plus" in names and "gpt-4o" in names, names
    assert client.models.retrieve("llm-plus").display_name == "llm-plus"


def create():
    answer = client.messages.create(model="llm-plus", max_tokens=500, system="Be brief.", messages=question)
    assert answer.type == "message" and answer.model == "llm-plus" and answer.stop_reason == "end_turn", answer
    assert answer.content[0].text and answer.stop_sequence is None and answer._request_id in answer.id, answer
    assert client.messages.create(model="gpt-4o", max_tokens=500, messages=question).model == "gpt-4o"
    return answer.content[0].text


def usage():
    answer = client.messages.create(model="llm-plus", max_tokens=5, messages=question)
    assert answer.stop_reason == "max_tokens" and answer.usage.output_tokens == 5 and answer.usage.input_tokens > 0, answer
    raw = client.messages.with_raw_response.count_tokens(model="llm-plus", messages=question)
    assert raw.parse().input_tokens > 0 and raw.headers["sluice-warning"] == "estimated", raw.headers


def stream(whole):
    with client.messages.stream(model="llm-plus", max_tokens=500, system="Be brief.", messages=question) as events:
        assert "".join(events.text_stream) == whole
        final = events.get_final_message()
    assert final.content[0].text == whole and final.stop_reason == "end_turn" and final.usage.input_tokens > 0, final


def thinking():
    asked = {"model": "llm-plus", "max_tokens": 3000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    answer = client.messages.create(messages=question, **asked)
    assert [block.type for block in answer.content] == ["thinking", "text"], answer
    with client.messages.stream(messages=question, **asked) as events:
        assert events.get_final_message().content[0].thinking == answer.content[0].thinking
    back = question + [{"role": "assistant", "content": answer.content}, {"role": "user", "content": "Go on."}]
    assert client.messages.create(messages=back, **asked).content


def call_tools():
    ask = [{"role": "user", "content": "Which water_level has the Elbe?"}]
    asked = {"model": "llm-plus", "max_tokens": 500, "tools": tools}
    raw = client.messages.with_raw_response.create(messages=ask, **asked)
    assert "web_search" in raw.headers["sluice-warning"], raw.headers
    answer = raw.parse()
    call = answer.content[-1]
    assert answer.stop_reason == "tool_use" and call.name == "water_level" and "river" in call.input, answer
    with client.messages.stream(messages=ask, **asked) as events:
        assert events.get_final_message().content[-1].input == call.input
    forced = client.messages.create(messages=question, tool_choice={"type": "any"}, **asked)
    assert forced.content[-1].name == "water_level", forced
    result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "2.1 m"}]}
    back = ask + [{"role": "assistant", "content": answer.content}, {"role": "user", "content": [result]}]
    assert client.messages.create(messages=back, **asked).stop_reason == "end_turn"


def pictures():
    sources = [
        {"type": "url", "url": "https://pictures.example/mill.png"},
        {
            "type": "base64",
            "media_type": "image/png",
            "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        },
    ]
    for source in sources:
        content = [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}]
        assert client.messages.create(model="llm-vl", max_tokens=50, messages=[{"role": "user", "content": content}]).content


class River(pydantic.BaseModel):
    name: str
    length_km: int


def objects():
    ask = [{"role": "user", "content": "A river"}]
    assert client.messages.parse(model="llm-plus", max_tokens=500, messages=ask, output_format=River).parsed_output.name
    with client.messages.stream(model="llm-plus", max_tokens=500, messages=ask, output_format=River) as events:
        assert events.get_final_message().parsed_output.name


def errors():
    def refused(kind, about, **change):
        try:
            client.messages.create(**{"model": "llm-plus", "max_tokens": 50, "messages": question, **change})
        except kind as e:
            assert type(e) is kind and about in str(e) and e.request_id, e
            return
        raise AssertionError(f"not refused: {change}")

    refused(anthropic.BadRequestError, "top_p: given 3", extra_body={"top_p": 3})
    refused(anthropic.BadRequestError, "mcp_servers", extra_body={"mcp_servers": []})
    refused(anthropic.NotFoundError, "secret-model", model="secret-model")
    stranger = client.with_options(api_key="slk_wrong")
    try:
        stranger.messages.create(model="llm-plus", max_tokens=50, messages=question)
        raise AssertionError("a wrong key")
    except anthropic.AuthenticationError as e:
        assert e.body["error"]["type"] == "authentication_error", e.body


models(), passed("models")
content = create()
passed("create")
usage(), passed("usage")
stream(content), passed("stream")
thinking(), passed("thinking")
call_tools(), passed("tools")
objects(), passed("structured output")
pictures(), passed("pictures")
errors(), passed("errors")
