"""The calls of `litellm` through its providers for the Ollama, OpenAI and Anthropic APIs."""

import json

import litellm

from outcomes import base_messages, keyless, real, right_key, has_text, fake, report, report_rejected, weather

litellm.suppress_debug_info = True
litellm.telemetry = False

providers = {
    "ollama": ("ollama/{}", "{}"),
    "ollama_chat": ("ollama_chat/{}", "{}"),
    "openai": ("openai/{}", "{}/v1"),
    "anthropic": ("anthropic/{}", "{}/alt"),
}


def target(provider, model, address):
    name, base = providers[provider]
    return {"model": name.format(model), "api_base": base.format(address), "api_key": right_key, "num_retries": 0}


def complete(provider, model="smol", address=real, **more):
    fields = {**target(provider, model, address), "messages": base_messages, "max_tokens": 8, "temperature": 0, **more}
    return litellm.completion(**fields)


def completed(provider):
    response = complete(provider)
    return {"said": has_text(response.choices[0].message.content), "tokens": response.usage.completion_tokens}


async def streamed(provider):
    fields = {**target(provider, "smol", real), "messages": base_messages, "max_tokens": 8, "temperature": 0}
    stream = await litellm.acompletion(**fields, stream=True)
    chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    return {"said": has_text(text), "ended": chunks[-1].choices[0].finish_reason}


def called(provider):
    response = complete(provider, "tiny", fake, tools=[weather]).choices[0]
    calls = [
        [call.function.name, json.loads(call.function.arguments)["city"]]
        for call in response.message.tool_calls or []
    ]
    return {"calls": calls, "reason": response.finish_reason}


def shaped(provider):
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}
    response_format = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema, "strict": True}}
    response = complete(provider, max_tokens=16, response_format=response_format)
    return type(json.loads(response.choices[0].message.content)["ok"]).__name__


def embedded(provider, address=real):
    response = litellm.embedding(**target(provider, "minilm", address), input=["a", "b"])
    return [len(entry["embedding"]) for entry in response.data]


def by_class(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return None


long_messages = [{"role": "user", "content": "word " * 3000}]
for provider in providers:
    report(f"{provider}: completion", lambda: completed(provider))
    report(f"{provider}: acompletion streamed", lambda: streamed(provider))
    report(f"{provider}: unknown model", lambda: by_class(lambda: complete(provider, "nobody")))
    if provider != "ollama":
        report(f"{provider}: tools", lambda: called(provider))
    if provider != "anthropic":
        report(f"{provider}: response_format", lambda: shaped(provider))
for provider in ("openai", "anthropic"):
    report(f"{provider}: prompt too long", lambda: by_class(lambda: complete(provider, messages=long_messages)))
report("openai: embedding", lambda: embedded("openai"))
# LiteLLM does not send the API key for this provider.
report("ollama: embedding", lambda: embedded("ollama", keyless))
report("ollama: embedding without the required key", lambda: by_class(lambda: embedded("ollama")))
for provider in providers:
    report_rejected(
        {f"{provider}: completion": lambda key: by_class(lambda: complete(provider, api_key=key or "none"))},
        lambda key: key,
    )
