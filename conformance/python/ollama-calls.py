"""The calls of the official `ollama` client, sync and async, on real weights and on a fake engine."""

import os

from ollama import AsyncClient, Client
from pydantic import BaseModel

from outcomes import base_messages, model_file, prompt, real, registry, right_key, has_text, fake, report, report_rejected

options = {"seed": 1, "temperature": 0, "num_predict": 8}


class Verdict(BaseModel):
    ok: bool


def weather(city: str) -> str:
    """Tells the weather in a city

    Args:
      city: Where
    """
    return f"sunny in {city}"


def make_client(key, address=real):
    return Client(host=address, headers={} if key is None else {"Authorization": f"Bearer {key}"})


client = make_client(right_key)
tiny = make_client(right_key, fake)


def compare_generate():
    complete = client.generate(model="smol", prompt=prompt, options=options)
    chunks = list(client.generate(model="smol", prompt=prompt, options=options, stream=True))
    return {
        "alike": complete.response == "".join(chunk.response for chunk in chunks),
        "tokens": complete.eval_count,
        "reason": chunks[-1].done_reason,
    }


def compare_chat():
    complete = client.chat(model="smol", messages=base_messages, options=options)
    chunks = list(client.chat(model="smol", messages=base_messages, options=options, stream=True))
    return {
        "alike": complete.message.content == "".join(chunk.message.content for chunk in chunks),
        "tokens": complete.eval_count,
        "reason": chunks[-1].done_reason,
    }


def chat_with_probabilities():
    response = client.chat(model="smol", messages=base_messages, options=options, logprobs=True, top_logprobs=3)
    return [len(response.logprobs), len(response.logprobs[0].top_logprobs)]


def chat_within_schema():
    response = client.chat(
        model="smol",
        messages=base_messages,
        format=Verdict.model_json_schema(),
        options={**options, "num_predict": 16},
    )
    return type(Verdict.model_validate_json(response.message.content).ok).__name__


def load_and_unload():
    loaded = client.generate(model="tiny", prompt="", keep_alive=-1).done_reason
    there = "tiny:latest" in [entry.model for entry in client.ps().models]
    unloaded = client.generate(model="tiny", prompt="", keep_alive=0).done_reason
    gone = "tiny:latest" not in [entry.model for entry in client.ps().models]
    return [loaded, there, unloaded, gone]


def tools_loop():
    first = tiny.chat(model="tiny", messages=base_messages, tools=[weather])
    calls = [[call.function.name, dict(call.function.arguments)] for call in first.message.tool_calls]
    results = [
        {"role": "tool", "tool_name": name, "content": weather(**arguments)} for name, arguments in calls
    ]
    second = tiny.chat(model="tiny", messages=[*base_messages, first.message, *results], tools=[weather])
    return {"calls": calls, "response": second.message.content, "reason": first.done_reason}


def streamed_calls():
    chunks = tiny.chat(model="tiny", messages=base_messages, tools=[weather], stream=True)
    return [call.function.arguments["city"] for chunk in chunks for call in chunk.message.tool_calls or []]


def thinking():
    chunks = list(tiny.chat(model="tiny", messages=base_messages, think=True, stream=True))
    return [
        "".join(chunk.message.thinking or "" for chunk in chunks),
        "".join(chunk.message.content or "" for chunk in chunks),
    ]


def broken_halfway(make_stream):
    seen = []
    try:
        for chunk in make_stream():
            seen.append(chunk.message.content)
    except Exception as error:
        return {"seen": seen, "error": type(error).__name__}
    return {"seen": seen, "error": None}


def key_from_environment():
    os.environ["OLLAMA_API_KEY"] = right_key
    try:
        return len(Client(host=real).list().models)
    finally:
        del os.environ["OLLAMA_API_KEY"]


async def async_calls():
    other = AsyncClient(host=real, headers={"Authorization": f"Bearer {right_key}"})
    complete = await other.chat(model="smol", messages=base_messages, options=options)
    chunks = [
        chunk
        async for chunk in await other.chat(model="smol", messages=base_messages, options=options, stream=True)
    ]
    generated = [
        chunk async for chunk in await other.generate(model="smol", prompt=prompt, options=options, stream=True)
    ]
    vectors = await other.embed(model="minilm", input="a")
    return {
        "models": len((await other.list()).models),
        "shown": (await other.show("minilm")).capabilities,
        "alike": complete.message.content == "".join(chunk.message.content for chunk in chunks),
        "ended": generated[-1].done,
        "dimensions": len(vectors.embeddings[0]),
    }


remote = f"{registry}/team/tiny:latest"


def create_from_blob():
    digest = client.create_blob(model_file)
    client.create_blob(model_file)
    created = client.create(model="uploaded", files={"tiny.gguf": digest}).status
    tokens = client.generate(model="uploaded", prompt="One two", raw=True, options=options).eval_count
    return [digest[:7], created, tokens, client.delete("uploaded").status]


def create_from_model():
    chunks = client.create(
        model=remote,
        from_="tiny",
        system="Be brief",
        template="{{ .Prompt }}",
        license=["MIT", "Apache-2.0"],
        parameters={"temperature": 0, "stop": ["#"]},
        messages=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
        stream=True,
    )
    statuses = [chunk.status for chunk in chunks]
    shown = client.show(remote)
    return [statuses[-2:], shown.license, shown.parameters.split(), shown.details.parent_model]


def progress_of(chunks):
    seen = list(chunks)
    layers = [chunk for chunk in seen if chunk.digest is not None]
    return [seen[0].status, seen[-1].status, all((chunk.completed or 0) <= chunk.total for chunk in layers)]


def pulled():
    client.delete(remote)
    progress = progress_of(client.pull(remote, insecure=True, stream=True))
    return [*progress, client.chat(model=remote, messages=base_messages, options=options).done]


def pulled_after_abort():
    client.delete(remote)
    for _chunk in client.pull(remote, insecure=True, stream=True):
        break
    return [client.pull(remote, insecure=True).status, client.delete(remote).status]


async def async_transfers():
    other = AsyncClient(host=real, headers={"Authorization": f"Bearer {right_key}"})
    digest = await other.create_blob(model_file)
    created = (await other.create(model=remote, files={"tiny.gguf": digest})).status
    pushed = [chunk.status async for chunk in await other.push(remote, insecure=True, stream=True)]
    removed = (await other.delete(remote)).status
    pulled_statuses = [chunk.status async for chunk in await other.pull(remote, insecure=True, stream=True)]
    return [created, pushed[-1], removed, pulled_statuses[-1], (await other.delete(remote)).status]


report("list", lambda: sorted(entry.model for entry in client.list().models))
report("show", lambda: client.show("tiny").modelinfo["general.architecture"])
report("generate, complete and streamed", compare_generate)
report("generate raw", lambda: has_text(client.generate(model="smol", prompt="One two", raw=True, options=options).response))
report("generate with a suffix", lambda: client.generate(model="tiny", prompt="def f", suffix="end", options=options).eval_count)
report("load, ps and unload", load_and_unload)
report("chat, complete and streamed", compare_chat)
report("chat with probabilities", chat_with_probabilities)
report("chat within a pydantic schema", chat_within_schema)
report("chat thinking on", lambda: client.chat(model="tiny", messages=base_messages, think=True, options=options).eval_count)
report("chat thinking off", lambda: client.chat(model="tiny", messages=base_messages, think=False, options=options).eval_count)
report("chat thinking high", lambda: client.chat(model="tiny", messages=base_messages, think="high", options=options).eval_count)
report("chat thinking without support", lambda: client.chat(model="smol", messages=base_messages, think=True).done)
report("embed", lambda: [len(vector) for vector in client.embed(model="minilm", input=["a", "b"], dimensions=128).embeddings])
report("embeddings", lambda: len(client.embeddings(model="minilm", prompt="a").embedding))
report("copy", lambda: client.copy("tiny", "mine").status)
report("delete", lambda: client.delete("mine").status)
report("delete an unknown model", lambda: client.delete("mine").status)
report("chat with an unknown model", lambda: client.chat(model="mine", messages=base_messages).done)
report("create_blob, and a model from it", create_from_blob)
report("create from a model with all fields", create_from_model)
report("push", lambda: client.push(remote, insecure=True).status)
report("push streamed", lambda: progress_of(client.push(remote, insecure=True, stream=True)))
report("pull streamed", pulled)
report("pull after an aborted pull", pulled_after_abort)
report("async: create_blob, create, push, delete, pull", async_transfers)
report("pull an unknown model", lambda: client.pull(f"{registry}/team/none", insecure=True).status)
report("push an unknown model", lambda: client.push(f"{registry}/team/none", insecure=True).status)
report("create without a source", lambda: client.create(model="none").status)
report("key from the environment", key_from_environment)
report("async: list, show, chat, generate, embed", async_calls)
report("tools from Python functions", tools_loop)
report("tools streamed", streamed_calls)
report("thinking streamed", thinking)
broken = [{"role": "user", "content": "break halfway"}]
report("failure mid-stream", lambda: broken_halfway(lambda: tiny.chat(model="tiny", messages=broken, think=False, stream=True)))
report_rejected(
    {
        "list": lambda caller: len(caller.list().models),
        "ps": lambda caller: len(caller.ps().models),
        "show": lambda caller: caller.show("smol").template,
        "generate": lambda caller: caller.generate(model="smol", prompt=prompt, options=options).done,
        "generate streamed": lambda caller: len(list(caller.generate(model="smol", prompt=prompt, stream=True))),
        "chat": lambda caller: caller.chat(model="smol", messages=base_messages, options=options).done,
        "embed": lambda caller: len(caller.embed(model="minilm", input="a").embeddings),
        "embeddings": lambda caller: len(caller.embeddings(model="minilm", prompt="a").embedding),
        "copy": lambda caller: caller.copy("tiny", "stolen").status,
        "delete": lambda caller: caller.delete("tiny").status,
        "create": lambda caller: caller.create(model="stolen", from_="tiny").status,
        "create_blob": lambda caller: caller.create_blob(model_file),
        "push": lambda caller: caller.push(remote, insecure=True).status,
        "pull": lambda caller: caller.pull(remote, insecure=True).status,
    },
    make_client,
)
