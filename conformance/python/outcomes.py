"""How the call lists tell what came of each call: one JSON line with its name and its outcome."""

import asyncio
import inspect
import json
import sys

# The third address is that of a server that wants no key; the last are a registry's host and a model file.
real, scripted, keyless, right_key, wrong_key, registry, model_file = sys.argv[1:]

question = "Count from one to nine"
asked = [{"role": "user", "content": question}]
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


def tell(name, call):
    """Makes the call and prints its outcome: what it gave back, or the class and status of what it threw."""
    try:
        outcome = call()
        if inspect.isawaitable(outcome):
            outcome = asyncio.run(wait_for(outcome))
    except Exception as problem:
        outcome = {"error": type(problem).__name__, "status": getattr(problem, "status_code", None)}
    print(json.dumps({"call": name, "outcome": outcome}), flush=True)


async def wait_for(outcome):
    return await outcome


def tell_refused(endpoints, make_client):
    """Each endpoint without a key and with a wrong one."""
    for name, call in endpoints.items():
        tell(f"{name} without a key", lambda: call(make_client(None)))
        tell(f"{name} with a wrong key", lambda: call(make_client(wrong_key)))


def says(text):
    return isinstance(text, str) and text != ""
