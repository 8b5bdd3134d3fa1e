"""What the official clients raise for keys that have reached their limits, one list of names for each key."""

import json
import sys

from anthropic import Anthropic
from ollama import Client
from openai import OpenAI

request = json.loads(sys.argv[1])
address = request["url"]
messages = [{"role": "user", "content": "Hi"}]


def name_error(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__} {error.status_code}"
    return "none"


def try_clients(key):
    openai = OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)
    anthropic = Anthropic(base_url=f"{address}/alt", api_key=key, max_retries=0)
    ollama = Client(host=address, headers={"authorization": f"Bearer {key}"})
    return [
        name_error(lambda: openai.chat.completions.create(model="tiny", messages=messages)),
        name_error(lambda: anthropic.messages.create(model="tiny", messages=messages, max_tokens=8)),
        name_error(lambda: ollama.chat(model="tiny", messages=messages)),
    ]


print(json.dumps([try_clients(key) for key in request["secrets"]]))
