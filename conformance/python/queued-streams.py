"""Streams of the official Python clients while other requests are served: what they yield of a stream with notices."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from anthropic import Anthropic
from ollama import Client
from openai import OpenAI

address, key = sys.argv[1:3]
messages = [{"role": "user", "content": "Hello"}]


def ask_openai():
    client = OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)
    stream = client.chat.completions.create(model="tiny", messages=messages, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def ask_responses():
    client = OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)
    stream = client.responses.create(model="tiny", input="Hello", stream=True, store=False)
    return "".join(event.delta for event in stream if event.type == "response.output_text.delta")


def ask_anthropic():
    client = Anthropic(base_url=address, api_key=key, max_retries=0)
    with client.messages.stream(model="tiny", max_tokens=64, messages=messages) as stream:
        return "".join(stream.text_stream)


def ask_ollama():
    client = Client(host=address, headers={"Authorization": f"Bearer {key}"})
    return "".join(chunk.message.content or "" for chunk in client.chat(model="tiny", messages=messages, stream=True))


calls = {"openai": ask_openai, "responses": ask_responses, "anthropic": ask_anthropic, "ollama": ask_ollama}
with ThreadPoolExecutor(len(calls)) as pool:
    running = {name: pool.submit(call) for name, call in calls.items()}
    print(json.dumps({name: answer.result() for name, answer in running.items()}))
