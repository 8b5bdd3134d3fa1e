"""Reports the outcome of each call as one JSON line with its name."""

import asyncio
import inspect
import json
import sys

# The third URL is a server without an API key; the last arguments are a registry host and a model file.
real, fake, keyless, right_key, wrong_key, registry, model_file = sys.argv[1:]

prompt = "Count from one to nine"
base_messages = [{"role": "user", "content": prompt}]
weather = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tells the weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


def report(name, call):
    """Makes the call and prints its outcome: the return value, or the class and status of the exception."""
    try:
        outcome = call()
        if inspect.isawaitable(outcome):
            outcome = asyncio.run(wait_for(outcome))
    except Exception as error:
        outcome = {"error": type(error).__name__, "status": getattr(error, "status_code", None)}
    print(json.dumps({"call": name, "outcome": outcome}), flush=True)


async def wait_for(outcome):
    return await outcome


def report_rejected(endpoints, make_client):
    """Calls each endpoint without a key and with a wrong key."""
    for name, call in endpoints.items():
        report(f"{name} without a key", lambda: call(make_client(None)))
        report(f"{name} with a wrong key", lambda: call(make_client(wrong_key)))


def has_text(text):
    return isinstance(text, str) and text != ""
