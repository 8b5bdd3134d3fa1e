"""The audio calls of the official `openai` client. Usage: transcribe.py <address> <path of a WAV file>"""

import asyncio
import base64
import json
import sys
from pathlib import Path

from openai import AsyncOpenAI, BadRequestError, OpenAI

address, path = sys.argv[1:]
client = OpenAI(base_url=address, api_key="none", max_retries=0)


def transcribe(**settings):
    with open(path, "rb") as file:
        return client.audio.transcriptions.create(model="hearing", file=file, **settings)


async def transcribe_async():
    async with AsyncOpenAI(base_url=address, api_key="none", max_retries=0) as other:
        return await other.audio.transcriptions.create(model="hearing", file=Path(path))


def streamed():
    events = list(transcribe(stream=True))
    text = "".join(event.delta for event in events if event.type == "transcript.text.delta")
    return text if events[-1].text == text else None


def chat():
    audio = {"data": base64.b64encode(Path(path).read_bytes()).decode(), "format": "wav"}
    content = [{"type": "text", "text": "What is said?"}, {"type": "input_audio", "input_audio": audio}]
    response = client.chat.completions.create(
        model="hearing", max_tokens=4, messages=[{"role": "user", "content": content}]
    )
    return response.choices[0].finish_reason


def rejected(field, call):
    try:
        call()
    except BadRequestError as error:
        return ["BadRequestError", getattr(error, field)]


def transcribe_deaf():
    client.audio.transcriptions.create(model="deaf", file=Path(path))


def start_of(text):
    # Rounding changes the words of random weights after a while.
    return text[:24]


complete = start_of(transcribe().text)
print(
    json.dumps(
        {
            "said": complete != "",
            "alike": [
                start_of(transcribe(response_format="text")) == complete,
                start_of(streamed()) == complete,
                start_of(asyncio.run(transcribe_async()).text) == complete,
            ],
            "chat": chat(),
            "deaf": rejected("code", transcribe_deaf),
            "format": rejected("param", lambda: transcribe(response_format="srt")),
        }
    )
)
