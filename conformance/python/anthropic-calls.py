"""The calls of the official `anthropic` client, sync and async, on real weights and on a fake engine."""

import asyncio

from anthropic import Anthropic, AsyncAnthropic, beta_tool

from outcomes import base_messages, real, right_key, fake, report, report_rejected, weather

settings = {"model": "smol", "messages": base_messages, "max_tokens": 8, "extra_body": {"temperature": 0}}
tool = {
    "name": "weather",
    "description": "Tells the weather in a city",
    "input_schema": weather["function"]["parameters"],
}
with_tools = {"model": "tiny", "messages": base_messages, "max_tokens": 16, "tools": [tool]}
thinking = {"type": "enabled", "budget_tokens": 1024}


def make_client(key, address=real):
    client = Anthropic(base_url=f"{address}/alt", api_key=key or "none", max_retries=0)
    return client if key is not None else client.with_options(default_headers={"X-Api-Key": ""})


client = make_client(right_key)
tiny = make_client(right_key, fake)


def compare_messages():
    complete = client.messages.create(**settings)
    with client.messages.stream(**settings) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    return {
        "alike": complete.content[0].text == text == final.content[0].text,
        "reason": complete.stop_reason,
        "tokens": [complete.usage.output_tokens, final.usage.output_tokens],
    }


def compare_counts():
    system = "Answer in one word"
    used = client.messages.create(**settings, system=system).usage
    counted_tokens = client.messages.count_tokens(model="smol", messages=base_messages, system=system).input_tokens
    return counted_tokens == used.input_tokens + (used.cache_read_input_tokens or 0)


def root_url_with_auth_token():
    other = Anthropic(base_url=real, auth_token=right_key, api_key=None, max_retries=0)
    return other.messages.create(**settings).type


def prefilled():
    messages = [*base_messages, {"role": "assistant", "content": "One, two,"}]
    response = client.messages.create(**{**settings, "messages": messages}, stop_sequences=["four"])
    return [response.stop_reason in ("max_tokens", "stop_sequence"), "One, two," not in response.content[0].text]


def tools_loop():
    first = tiny.messages.create(**with_tools)
    calls = [block for block in first.content if block.type == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": calls[0].id, "content": "sunny"},
        {"type": "tool_result", "tool_use_id": calls[1].id, "content": [{"type": "text", "text": "no"}], "is_error": True},
    ]
    messages = [
        *base_messages,
        {"role": "assistant", "content": [block.model_dump() for block in first.content]},
        {"role": "user", "content": results},
    ]
    second = tiny.messages.create(model="tiny", messages=messages, max_tokens=16, tools=[tool])
    return {
        "calls": [[call.name, call.input["city"]] for call in calls],
        "reasons": [first.stop_reason, second.stop_reason],
        "response": second.content[-1].text,
    }


def tool_choices():
    choices = {
        "auto": {"type": "auto"},
        "any": {"type": "any"},
        "named": {"type": "tool", "name": "weather"},
        "none": {"type": "none"},
        "not parallel": {"type": "auto", "disable_parallel_tool_use": True},
    }
    return {
        name: sum(block.type == "tool_use" for block in tiny.messages.create(**with_tools, tool_choice=choice).content)
        for name, choice in choices.items()
    }


def streamed_calls():
    with tiny.messages.stream(**with_tools) as stream:
        written = [event.partial_json for event in stream if event.type == "input_json"]
        final = stream.get_final_message()
    return {"written": "".join(written), "calls": [block.input["city"] for block in final.content if block.type == "tool_use"]}


def runner():
    @beta_tool
    def weather(city: str) -> str:
        """Tells the weather in a city

        Args:
            city: Where
        """
        return f"sunny in {city}"

    final = tiny.beta.messages.tool_runner(model="tiny", max_tokens=16, messages=base_messages, tools=[weather]).until_done()
    return final.content[-1].text


def complete_thinking():
    response = tiny.messages.create(model="tiny", messages=base_messages, max_tokens=2048, thinking=thinking)
    return [[block.type for block in response.content], response.content[0].thinking]


async def eight_streams():
    other = AsyncAnthropic(base_url=f"{fake}/alt", api_key=right_key, max_retries=0)

    async def one():
        async with other.messages.stream(model="tiny", messages=base_messages, max_tokens=2048, thinking=thinking) as stream:
            final = await stream.get_final_message()
        return [final.content[0].thinking, final.content[1].text]

    return await asyncio.gather(*[one() for _ in range(8)])


async def async_calls():
    other = AsyncAnthropic(base_url=f"{real}/alt", api_key=right_key, max_retries=0)
    complete = await other.messages.create(**settings)
    stream = await other.messages.create(**settings, stream=True)
    kinds = [event.type async for event in stream]
    counted = await other.messages.count_tokens(model="smol", messages=base_messages)
    models = [entry.id async for entry in other.models.list()]
    return {
        "type": complete.type,
        "ends": [kinds[0], kinds[-1]],
        "counts": counted.input_tokens > 0,
        "models": len(models),
    }


def broken_halfway():
    seen = []
    try:
        with tiny.messages.stream(
            model="tiny", messages=[{"role": "user", "content": "break halfway"}], max_tokens=16
        ) as stream:
            for text in stream.text_stream:
                seen.append(text)
    except Exception as error:
        return {"seen": seen, "error": type(error).__name__}
    return {"seen": seen, "error": None}


report("models.list", lambda: sorted(entry.id for entry in client.models.list()))
report("models.retrieve", lambda: client.models.retrieve("smol:latest").type)
report("messages, complete and streamed", compare_messages)
report("count_tokens equals the usage", compare_counts)
report("root URL with an auth token", root_url_with_auth_token)
report("prefill and stop_sequences", prefilled)
report("system as blocks", lambda: client.messages.create(**settings, system=[{"type": "text", "text": "Be brief", "cache_control": {"type": "ephemeral"}}]).type)
report("system among the messages", lambda: client.messages.create(**{**settings, "messages": [{"role": "system", "content": "Be brief"}, *base_messages]}).type)
report("beta messages", lambda: client.beta.messages.create(**settings, betas=["something-2026-01-01"]).type)
report("unknown model", lambda: client.messages.create(**{**settings, "model": "nobody"}).id)
report("prompt too long", lambda: client.messages.create(**{**settings, "messages": [{"role": "user", "content": "word " * 3000}]}).id)
report("async: messages, streamed, count_tokens, models", async_calls)
report("tools with a second turn", tools_loop)
report("tool_choice", tool_choices)
report("tools streamed", streamed_calls)
report("tool_runner", runner)
report("thinking", complete_thinking)
report("eight concurrent streams with thinking", eight_streams)
report("failure mid-stream", broken_halfway)
report("failure immediately", lambda: tiny.messages.create(model="tiny", messages=[{"role": "user", "content": "break at once"}], max_tokens=16).id)
report_rejected(
    {
        "messages": lambda caller: caller.messages.create(**settings).id,
        "messages streamed": lambda caller: len(list(caller.messages.create(**settings, stream=True))),
        "count_tokens": lambda caller: caller.messages.count_tokens(model="smol", messages=base_messages).input_tokens,
        "models.list": lambda caller: len(list(caller.models.list())),
        "models.retrieve": lambda caller: caller.models.retrieve("smol").id,
    },
    make_client,
)
