"""The calls of the official `ollama` client, sync and async, on real weights and on a script."""

import os

from ollama import AsyncClient, Client
from pydantic import BaseModel

from outcomes import asked, model_file, question, real, registry, right_key, says, scripted, tell, tell_refused

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
tiny = make_client(right_key, scripted)


def generate_alike():
    whole = client.generate(model="smol", prompt=question, options=options)
    parts = list(client.generate(model="smol", prompt=question, options=options, stream=True))
    return {
        "alike": whole.response == "".join(part.response for part in parts),
        "tokens": whole.eval_count,
        "reason": parts[-1].done_reason,
    }


def chat_alike():
    whole = client.chat(model="smol", messages=asked, options=options)
    parts = list(client.chat(model="smol", messages=asked, options=options, stream=True))
    return {
        "alike": whole.message.content == "".join(part.message.content for part in parts),
        "tokens": whole.eval_count,
        "reason": parts[-1].done_reason,
    }


def chat_with_probabilities():
    answer = client.chat(model="smol", messages=asked, options=options, logprobs=True, top_logprobs=3)
    return [len(answer.logprobs), len(answer.logprobs[0].top_logprobs)]


def chat_within_schema():
    answer = client.chat(
        model="smol",
        messages=asked,
        format=Verdict.model_json_schema(),
        options={**options, "num_predict": 16},
    )
    return type(Verdict.model_validate_json(answer.message.content).ok).__name__


def load_and_unload():
    loaded = client.generate(model="tiny", prompt="", keep_alive=-1).done_reason
    there = "tiny:latest" in [entry.model for entry in client.ps().models]
    unloaded = client.generate(model="tiny", prompt="", keep_alive=0).done_reason
    gone = "tiny:latest" not in [entry.model for entry in client.ps().models]
    return [loaded, there, unloaded, gone]


def tools_loop():
    first = tiny.chat(model="tiny", messages=asked, tools=[weather])
    calls = [[call.function.name, dict(call.function.arguments)] for call in first.message.tool_calls]
    results = [
        {"role": "tool", "tool_name": name, "content": weather(**arguments)} for name, arguments in calls
    ]
    second = tiny.chat(model="tiny", messages=[*asked, first.message, *results], tools=[weather])
    return {"calls": calls, "answer": second.message.content, "reason": first.done_reason}


def streamed_calls():
    parts = tiny.chat(model="tiny", messages=asked, tools=[weather], stream=True)
    return [call.function.arguments["city"] for part in parts for call in part.message.tool_calls or []]


def thoughts():
    parts = list(tiny.chat(model="tiny", messages=asked, think=True, stream=True))
    return [
        "".join(part.message.thinking or "" for part in parts),
        "".join(part.message.content or "" for part in parts),
    ]


def broken_halfway(maker):
    seen = []
    try:
        for part in maker():
            seen.append(part.message.content)
    except Exception as problem:
        return {"seen": seen, "error": type(problem).__name__}
    return {"seen": seen, "error": None}


def key_from_environment():
    os.environ["OLLAMA_API_KEY"] = right_key
    try:
        return len(Client(host=real).list().models)
    finally:
        del os.environ["OLLAMA_API_KEY"]


async def async_calls():
    other = AsyncClient(host=real, headers={"Authorization": f"Bearer {right_key}"})
    whole = await other.chat(model="smol", messages=asked, options=options)
    parts = [
        part
        async for part in await other.chat(model="smol", messages=asked, options=options, stream=True)
    ]
    generated = [
        part async for part in await other.generate(model="smol", prompt=question, options=options, stream=True)
    ]
    vectors = await other.embed(model="minilm", input="a")
    return {
        "models": len((await other.list()).models),
        "shown": (await other.show("minilm")).capabilities,
        "alike": whole.message.content == "".join(part.message.content for part in parts),
        "ended": generated[-1].done,
        "dimensions": len(vectors.embeddings[0]),
    }


remote = f"{registry}/team/tiny:latest"


def made_of_blob():
    digest = client.create_blob(model_file)
    client.create_blob(model_file)
    made = client.create(model="uploaded", files={"tiny.gguf": digest}).status
    said = client.generate(model="uploaded", prompt="One two", raw=True, options=options).eval_count
    return [digest[:7], made, said, client.delete("uploaded").status]


def made_of_model():
    parts = client.create(
        model=remote,
        from_="tiny",
        system="Be brief",
        template="{{ .Prompt }}",
        license=["MIT", "Apache-2.0"],
        parameters={"temperature": 0, "stop": ["#"]},
        messages=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
        stream=True,
    )
    statuses = [part.status for part in parts]
    shown = client.show(remote)
    return [statuses[-2:], shown.license, shown.parameters.split(), shown.details.parent_model]


def moved(parts):
    seen = list(parts)
    layers = [part for part in seen if part.digest is not None]
    return [seen[0].status, seen[-1].status, all((part.completed or 0) <= part.total for part in layers)]


def pulled():
    client.delete(remote)
    progress = moved(client.pull(remote, insecure=True, stream=True))
    return [*progress, client.chat(model=remote, messages=asked, options=options).done]


def pulled_after_abort():
    client.delete(remote)
    for _part in client.pull(remote, insecure=True, stream=True):
        break
    return [client.pull(remote, insecure=True).status, client.delete(remote).status]


async def async_transfers():
    other = AsyncClient(host=real, headers={"Authorization": f"Bearer {right_key}"})
    digest = await other.create_blob(model_file)
    made = (await other.create(model=remote, files={"tiny.gguf": digest})).status
    pushed = [part.status async for part in await other.push(remote, insecure=True, stream=True)]
    removed = (await other.delete(remote)).status
    got = [part.status async for part in await other.pull(remote, insecure=True, stream=True)]
    return [made, pushed[-1], removed, got[-1], (await other.delete(remote)).status]


tell("list", lambda: sorted(entry.model for entry in client.list().models))
tell("show", lambda: client.show("tiny").modelinfo["general.architecture"])
tell("generate, whole and streamed", generate_alike)
tell("generate raw", lambda: says(client.generate(model="smol", prompt="One two", raw=True, options=options).response))
tell("generate with a suffix", lambda: client.generate(model="tiny", prompt="def f", suffix="end", options=options).eval_count)
tell("load, ps and unload", load_and_unload)
tell("chat, whole and streamed", chat_alike)
tell("chat with probabilities", chat_with_probabilities)
tell("chat within a pydantic schema", chat_within_schema)
tell("chat thinking on", lambda: client.chat(model="tiny", messages=asked, think=True, options=options).eval_count)
tell("chat thinking off", lambda: client.chat(model="tiny", messages=asked, think=False, options=options).eval_count)
tell("chat thinking high", lambda: client.chat(model="tiny", messages=asked, think="high", options=options).eval_count)
tell("chat thinking where it cannot", lambda: client.chat(model="smol", messages=asked, think=True).done)
tell("embed", lambda: [len(vector) for vector in client.embed(model="minilm", input=["a", "b"], dimensions=128).embeddings])
tell("embeddings", lambda: len(client.embeddings(model="minilm", prompt="a").embedding))
tell("copy", lambda: client.copy("tiny", "mine").status)
tell("delete", lambda: client.delete("mine").status)
tell("delete what is not there", lambda: client.delete("mine").status)
tell("chat with what is not there", lambda: client.chat(model="mine", messages=asked).done)
tell("create_blob, and a model of it", made_of_blob)
tell("create from a model with everything", made_of_model)
tell("push", lambda: client.push(remote, insecure=True).status)
tell("push streamed", lambda: moved(client.push(remote, insecure=True, stream=True)))
tell("pull streamed", pulled)
tell("pull after one that was left", pulled_after_abort)
tell("async: create_blob, create, push, delete, pull", async_transfers)
tell("pull what is not there", lambda: client.pull(f"{registry}/team/none", insecure=True).status)
tell("push what is not there", lambda: client.push(f"{registry}/team/none", insecure=True).status)
tell("create of nothing", lambda: client.create(model="none").status)
tell("key from the environment", key_from_environment)
tell("async: list, show, chat, generate, embed", async_calls)
tell("tools from Python functions", tools_loop)
tell("tools streamed", streamed_calls)
tell("thoughts streamed", thoughts)
broken = [{"role": "user", "content": "break halfway"}]
tell("failure halfway", lambda: broken_halfway(lambda: tiny.chat(model="tiny", messages=broken, think=False, stream=True)))
tell_refused(
    {
        "list": lambda who: len(who.list().models),
        "ps": lambda who: len(who.ps().models),
        "show": lambda who: who.show("smol").template,
        "generate": lambda who: who.generate(model="smol", prompt=question, options=options).done,
        "generate streamed": lambda who: len(list(who.generate(model="smol", prompt=question, stream=True))),
        "chat": lambda who: who.chat(model="smol", messages=asked, options=options).done,
        "embed": lambda who: len(who.embed(model="minilm", input="a").embeddings),
        "embeddings": lambda who: len(who.embeddings(model="minilm", prompt="a").embedding),
        "copy": lambda who: who.copy("tiny", "stolen").status,
        "delete": lambda who: who.delete("tiny").status,
        "create": lambda who: who.create(model="stolen", from_="tiny").status,
        "create_blob": lambda who: who.create_blob(model_file),
        "push": lambda who: who.push(remote, insecure=True).status,
        "pull": lambda who: who.pull(remote, insecure=True).status,
    },
    make_client,
)
