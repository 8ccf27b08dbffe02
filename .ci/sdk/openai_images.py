"""Drives OpenAI's Python library against Sluice for images. Each line on standard output names a topic that passed."""

import base64
import os

import openai

client = openai.OpenAI()  # OPENAI_BASE_URL and OPENAI_API_KEY
wish = {"model": "gen2.5-t2i", "prompt": "A mill by a river", "n": 1}


def flaky(way):
    """A way to Sluice on which the answer to each first attempt is lost."""
    return client.with_options(base_url=f"{os.environ['FLAKY']}/{way}/v1")


def edit(by):
    with open("mill.png", "rb") as mill:
        return by.images.edit(model="gen2.6-image", image=mill, prompt="The same mill in winter", n=1)


def images():
    raw = client.images.with_raw_response.generate(**{**wish, "n": 2, "size": "1024x1024"})
    made = raw.parse()
    assert len(made.data) == 2 and made.data[0].url.startswith("http") and made.created, made
    task = client.get(f"/images/tasks/{raw.headers['sluice-task']}", cast_to=dict[str, object])
    assert task["status"] == "completed" and len(task["data"]) == 2, task
    at_once = client.images.generate(model="llm-image-2.0", prompt="A mill by a river", n=1)
    assert at_once.data[0].url, at_once


def encoded():
    made = client.images.generate(**wish, response_format="b64_json")
    assert base64.b64decode(made.data[0].b64_json).startswith(b"\x89PNG"), made


def edits():
    assert edit(client).data[0].url


def errors():
    for param, change in {"style": {"style": "natural"}, "quality": {"quality": "hd"}, "prompt": {"prompt": ""}}.items():
        try:
            client.images.generate(**{**wish, **change})
            raise AssertionError(f"not refused: {change}")
        except openai.BadRequestError as e:
            assert e.param == param, (e.param, e)


def paid_once():
    for way in ("lost", "after-408", "after-409", "after-429", "after-500", "after-502", "after-503"):
        assert flaky(way).images.generate(**wish).data[0].url, way
    assert edit(flaky("lost")).data[0].url
    hasty = client.with_options(timeout=0.7, max_retries=8)
    assert hasty.images.generate(**wish).data[0].url


for topic, check in {"images": images, "encoded": encoded, "edits": edits, "errors": errors, "paid once": paid_once}.items():
    check()
    print(topic, flush=True)
