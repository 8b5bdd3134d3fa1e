"""The calls of the official `anthropic` client, sync and async, on real weights and on a script."""

import asyncio

from anthropic import Anthropic, AsyncAnthropic, beta_tool

from outcomes import asked, real, right_key, scripted, tell, tell_refused, weather

settings = {"model": "smol", "messages": asked, "max_tokens": 8, "extra_body": {"temperature": 0}}
tool = {
    "name": "weather",
    "description": "Tells the weather in a city",
    "input_schema": weather["function"]["parameters"],
}
with_tools = {"model": "tiny", "messages": asked, "max_tokens": 16, "tools": [tool]}
thinking = {"type": "enabled", "budget_tokens": 1024}


def make_client(key, address=real):
    client = Anthropic(base_url=f"{address}/alt", api_key=key or "none", max_retries=0)
    return client if key is not None else client.with_options(default_headers={"X-Api-Key": ""})


client = make_client(right_key)
tiny = make_client(right_key, scripted)


def create_alike():
    whole = client.messages.create(**settings)
    with client.messages.stream(**settings) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    return {
        "alike": whole.content[0].text == text == final.content[0].text,
        "reason": whole.stop_reason,
        "tokens": [whole.usage.output_tokens, final.usage.output_tokens],
    }


def counted():
    system = "Answer in one word"
    used = client.messages.create(**settings, system=system).usage
    told = client.messages.count_tokens(model="smol", messages=asked, system=system).input_tokens
    return told == used.input_tokens + (used.cache_read_input_tokens or 0)


def at_the_root_with_a_token():
    other = Anthropic(base_url=real, auth_token=right_key, api_key=None, max_retries=0)
    return other.messages.create(**settings).type


def prefilled():
    messages = [*asked, {"role": "assistant", "content": "One, two,"}]
    answer = client.messages.create(**{**settings, "messages": messages}, stop_sequences=["four"])
    return [answer.stop_reason in ("max_tokens", "stop_sequence"), "One, two," not in answer.content[0].text]


def tools_loop():
    first = tiny.messages.create(**with_tools)
    calls = [block for block in first.content if block.type == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": calls[0].id, "content": "sunny"},
        {"type": "tool_result", "tool_use_id": calls[1].id, "content": [{"type": "text", "text": "no"}], "is_error": True},
    ]
    messages = [
        *asked,
        {"role": "assistant", "content": [block.model_dump() for block in first.content]},
        {"role": "user", "content": results},
    ]
    second = tiny.messages.create(model="tiny", messages=messages, max_tokens=16, tools=[tool])
    return {
        "calls": [[call.name, call.input["city"]] for call in calls],
        "reasons": [first.stop_reason, second.stop_reason],
        "answer": second.content[-1].text,
    }


def choices_of_tools():
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

    final = tiny.beta.messages.tool_runner(model="tiny", max_tokens=16, messages=asked, tools=[weather]).until_done()
    return final.content[-1].text


def whole_thoughts():
    answer = tiny.messages.create(model="tiny", messages=asked, max_tokens=2048, thinking=thinking)
    return [[block.type for block in answer.content], answer.content[0].thinking]


async def eight_streams():
    other = AsyncAnthropic(base_url=f"{scripted}/alt", api_key=right_key, max_retries=0)

    async def one():
        async with other.messages.stream(model="tiny", messages=asked, max_tokens=2048, thinking=thinking) as stream:
            final = await stream.get_final_message()
        return [final.content[0].thinking, final.content[1].text]

    return await asyncio.gather(*[one() for _ in range(8)])


async def async_calls():
    other = AsyncAnthropic(base_url=f"{real}/alt", api_key=right_key, max_retries=0)
    whole = await other.messages.create(**settings)
    stream = await other.messages.create(**settings, stream=True)
    kinds = [event.type async for event in stream]
    counted = await other.messages.count_tokens(model="smol", messages=asked)
    models = [entry.id async for entry in other.models.list()]
    return {
        "type": whole.type,
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
    except Exception as problem:
        return {"seen": seen, "error": type(problem).__name__}
    return {"seen": seen, "error": None}


tell("models.list", lambda: sorted(entry.id for entry in client.models.list()))
tell("models.retrieve", lambda: client.models.retrieve("smol:latest").type)
tell("messages, whole and streamed", create_alike)
tell("count_tokens equals the usage", counted)
tell("root address with an auth token", at_the_root_with_a_token)
tell("prefill and stop_sequences", prefilled)
tell("system as blocks", lambda: client.messages.create(**settings, system=[{"type": "text", "text": "Be brief", "cache_control": {"type": "ephemeral"}}]).type)
tell("system among the messages", lambda: client.messages.create(**{**settings, "messages": [{"role": "system", "content": "Be brief"}, *asked]}).type)
tell("beta messages", lambda: client.beta.messages.create(**settings, betas=["something-2026-01-01"]).type)
tell("unknown model", lambda: client.messages.create(**{**settings, "model": "nobody"}).id)
tell("too long a prompt", lambda: client.messages.create(**{**settings, "messages": [{"role": "user", "content": "word " * 3000}]}).id)
tell("async: messages, streamed, count_tokens, models", async_calls)
tell("tools with a second turn", tools_loop)
tell("tool_choice", choices_of_tools)
tell("tools streamed", streamed_calls)
tell("tool_runner", runner)
tell("thoughts", whole_thoughts)
tell("eight streams of thoughts at once", eight_streams)
tell("failure halfway", broken_halfway)
tell("failure at once", lambda: tiny.messages.create(model="tiny", messages=[{"role": "user", "content": "break at once"}], max_tokens=16).id)
tell_refused(
    {
        "messages": lambda who: who.messages.create(**settings).id,
        "messages streamed": lambda who: len(list(who.messages.create(**settings, stream=True))),
        "count_tokens": lambda who: who.messages.count_tokens(model="smol", messages=asked).input_tokens,
        "models.list": lambda who: len(list(who.models.list())),
        "models.retrieve": lambda who: who.models.retrieve("smol").id,
    },
    make_client,
)
