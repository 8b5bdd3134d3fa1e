"""Uploads a file with the official `ollama` client and prints its digest and the duration in seconds."""

import sys
import time

from ollama import Client

address, key, path = sys.argv[1:]
start = time.monotonic()
digest = Client(host=address, headers={"Authorization": f"Bearer {key}"}).create_blob(path)
print(digest, time.monotonic() - start)
