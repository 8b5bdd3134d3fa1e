"""Opens streams and never reads from them. Their buffers are small, so that the server notices soon.

Arguments: the port, the number of streams, and the body of each POST /api/generate.
"""

import socket
import sys
import time

port, count, body = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode()
head = f"POST /api/generate HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
streams = []
for _ in range(count):
    stream = socket.socket()
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    # The other side sizes its buffer by it.
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    stream.connect(("127.0.0.1", port))
    stream.sendall(head.encode() + body)
    streams.append(stream)
print("open", flush=True)
time.sleep(3600)
