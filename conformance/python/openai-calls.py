"""The calls of the official `openai` client, sync and async, on real weights and on a fake engine."""

import json

from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from outcomes import base_messages, prompt, real, right_key, has_text, fake, report, report_rejected, weather

settings = {"model": "smol", "messages": base_messages, "temperature": 0, "seed": 1, "max_tokens": 8}
with_tools = {"model": "tiny", "messages": base_messages, "tools": [weather]}
flat_weather = {"type": "function", **weather["function"]}


class Verdict(BaseModel):
    ok: bool


def make_client(key, address=real):
    # The client requires a key; an empty header means none.
    client = OpenAI(base_url=f"{address}/v1", api_key=key or "none", max_retries=0)
    return client if key is not None else client.with_options(default_headers={"Authorization": ""})


client = make_client(right_key)
tiny = make_client(right_key, fake)


def compare_chat():
    complete = client.chat.completions.create(**settings)
    chunks = list(
        client.chat.completions.create(**settings, stream=True, stream_options={"include_usage": True})
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    return {
        "alike": complete.choices[0].message.content == text,
        "reason": complete.choices[0].finish_reason,
        "tokens": [complete.usage.completion_tokens, chunks[-1].usage.completion_tokens],
    }


def chat_by_helper():
    # The helper throws on truncated output, so the fake engine is used, whose output ends by itself.
    with tiny.chat.completions.stream(model="tiny", messages=base_messages) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    return {"kinds": sorted(kinds), "said": final.choices[0].message.content}


def limited():
    response = client.chat.completions.create(model="smol", messages=base_messages, max_completion_tokens=4, temperature=0)
    return [response.choices[0].finish_reason, response.usage.completion_tokens]


def parsed():
    response = client.chat.completions.parse(
        model="smol", messages=base_messages, temperature=0, max_tokens=16, response_format=Verdict
    )
    return type(response.choices[0].message.parsed.ok).__name__


def probabilities():
    response = client.chat.completions.create(**settings, logprobs=True, top_logprobs=3)
    content = response.choices[0].logprobs.content
    return [len(content), len(content[0].top_logprobs)]


def two_choices():
    response = client.chat.completions.create(**settings, n=2)
    return [choice.index for choice in response.choices]


def request_id():
    raw = client.chat.completions.with_raw_response.create(**settings)
    return [has_text(raw.headers.get("x-request-id")), raw.parse().id.startswith("chatcmpl-")]


def completed():
    complete = client.completions.create(model="smol", prompt="One two", max_tokens=8, temperature=0)
    chunks = client.completions.create(model="smol", prompt="One two", max_tokens=8, temperature=0, stream=True)
    return complete.choices[0].text == "".join(chunk.choices[0].text for chunk in chunks)


def embedded():
    packed = client.embeddings.create(model="minilm", input=["a", "b"]).data
    plain = client.embeddings.create(model="minilm", input=["a", "b"], encoding_format="float").data
    nearest = max(abs(one - two) for one, two in zip(packed[1].embedding, plain[1].embedding, strict=True))
    return [len(packed), len(packed[0].embedding), nearest < 1e-6]


def compare_response():
    fields = {"model": "smol", "input": prompt, "temperature": 0, "max_output_tokens": 8}
    complete = client.responses.create(**fields)
    with client.responses.stream(**fields) as stream:
        last = list(stream)[-1]
    return {"alike": complete.output_text == last.response.output_text, "status": complete.status, "last": last.type}


def response_by_helper():
    with tiny.responses.stream(model="tiny", input=prompt) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    return {"first": kinds[0], "last": kinds[-1], "said": final.output_text}


def tools_loop():
    first = tiny.chat.completions.create(**with_tools).choices[0]
    calls = first.message.tool_calls
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": [{"type": "text", "text": "sunny"}]} for call in calls
    ]
    messages = [*base_messages, first.message.model_dump(exclude_none=True), *results]
    second = tiny.chat.completions.create(model="tiny", messages=messages, tools=[weather]).choices[0]
    return {
        "calls": [[call.function.name, json.loads(call.function.arguments)["city"]] for call in calls],
        "ids": len({call.id for call in calls}),
        "reasons": [first.finish_reason, second.finish_reason],
        "response": second.message.content,
    }


def streamed_calls():
    with tiny.chat.completions.stream(**with_tools) as stream:
        stream.until_done()
        calls = stream.get_final_completion().choices[0].message.tool_calls
    return [call.function.arguments for call in calls]


def tool_choices():
    counts = {}
    named = {"type": "function", "function": {"name": "weather"}}
    for name, choice in {"auto": "auto", "none": "none", "required": "required", "named": named}.items():
        message = tiny.chat.completions.create(**with_tools, tool_choice=choice).choices[0].message
        counts[name] = len(message.tool_calls or [])
    one = tiny.chat.completions.create(**with_tools, parallel_tool_calls=False).choices[0].message
    return {**counts, "not parallel": len(one.tool_calls)}


def thinking():
    response = tiny.chat.completions.create(model="tiny", messages=base_messages, reasoning_effort="high").choices[0].message
    return [response.reasoning, response.reasoning_content, response.content]


def response_calls():
    response = tiny.responses.create(model="tiny", input=prompt, tools=[flat_weather])
    calls = [item for item in response.output if item.type == "function_call"]
    results = [{"type": "function_call_output", "call_id": call.call_id, "output": "sunny"} for call in calls]
    items = [{"role": "user", "content": prompt}, *[item.model_dump() for item in response.output], *results]
    return [len(calls), tiny.responses.create(model="tiny", input=items, tools=[flat_weather]).output_text]


def broken_halfway(make_stream):
    seen = 0
    try:
        for _ in make_stream():
            seen += 1
    except Exception as error:
        return {"seen": seen > 0, "error": type(error).__name__}
    return {"seen": seen > 0, "error": None}


async def async_calls():
    other = AsyncOpenAI(base_url=f"{real}/v1", api_key=right_key, max_retries=0)
    stream = await other.chat.completions.create(**settings, stream=True)
    text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    complete = await other.chat.completions.create(**settings)
    response = await other.responses.create(model="smol", input=prompt, max_output_tokens=8, temperature=0)
    vectors = await other.embeddings.create(model="minilm", input="a")
    models = [entry.id async for entry in other.models.list()]
    return {
        "alike": text == complete.choices[0].message.content,
        "said": has_text(response.output_text),
        "dimensions": len(vectors.data[0].embedding),
        "models": len(models),
    }


report("models.list", lambda: sorted(entry.id for entry in client.models.list()))
report("models.retrieve", lambda: client.models.retrieve("smol:latest").owned_by)
report("chat, complete and streamed", compare_chat)
report("chat by the stream helper", chat_by_helper)
report("max_completion_tokens", limited)
report("parse into a pydantic model", parsed)
report("probabilities", probabilities)
report("two choices", two_choices)
report("raw response with its request id", request_id)
report("developer role", lambda: has_text(client.chat.completions.create(**{**settings, "messages": [{"role": "developer", "content": "Be brief"}, *base_messages]}).choices[0].message.content))
report("completions, complete and streamed", completed)
report("embeddings, base64 and plain", embedded)
report("embeddings of tokens", lambda: len(client.embeddings.create(model="minilm", input=[[1, 2]]).data))
report("responses, complete and streamed", compare_response)
report("responses by the stream helper", response_by_helper)
report("unknown model", lambda: client.chat.completions.create(**{**settings, "model": "nobody"}).id)
report("prompt too long", lambda: client.chat.completions.create(**{**settings, "messages": [{"role": "user", "content": "word " * 3000}]}).id)
report("async: chat, responses, embeddings, models", async_calls)
report("tools with a second turn", tools_loop)
report("tools by the stream helper", streamed_calls)
report("tool_choice", tool_choices)
report("thinking", thinking)
report("responses with tools and a second turn", response_calls)
broken = {"model": "tiny", "messages": [{"role": "user", "content": "break halfway"}]}
report("chat failing mid-stream", lambda: broken_halfway(lambda: tiny.chat.completions.create(**broken, stream=True)))
report("responses failing mid-stream", lambda: broken_halfway(lambda: tiny.responses.create(model="tiny", input="break halfway", stream=True)))
report("chat failing immediately", lambda: tiny.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "break at once"}]).id)
report_rejected(
    {
        "models.list": lambda caller: len(list(caller.models.list())),
        "models.retrieve": lambda caller: caller.models.retrieve("smol").id,
        "chat": lambda caller: caller.chat.completions.create(**settings).id,
        "chat streamed": lambda caller: len(list(caller.chat.completions.create(**settings, stream=True))),
        "completions": lambda caller: caller.completions.create(model="smol", prompt="a", max_tokens=4).id,
        "embeddings": lambda caller: len(caller.embeddings.create(model="minilm", input="a").data),
        "responses": lambda caller: caller.responses.create(model="smol", input="a", max_output_tokens=4).id,
    },
    make_client,
)
