"""One upload by the official `ollama` client; prints its digest and how many seconds it took."""

import sys
import time

from ollama import Client

address, key, path = sys.argv[1:]
start = time.monotonic()
digest = Client(host=address, headers={"Authorization": f"Bearer {key}"}).create_blob(path)
print(digest, time.monotonic() - start)
