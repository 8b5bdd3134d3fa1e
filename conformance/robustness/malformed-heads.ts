/** One raw HTTP message, named by why a careful server rejects it. */
export type BrokenMessage = { readonly name: string; readonly bytes: Buffer };

/** Messages to one path that are not valid HTTP, or are ambiguous. */
export function brokenMessages(path: string, body: string): readonly BrokenMessage[] {
  const start = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n`;
  const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  const chunked = "Transfer-Encoding: chunked\r\n";
  const second = "GET /api/version HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const chunk = `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;
  const messages: Readonly<Record<string, string>> = {
    "content-length and chunked": `${start}${length}${chunked}\r\n0\r\n\r\n${second}`,
    "content-length and chunked, chunked first": `${start}${chunked}${length}\r\n0\r\n\r\n${second}`,
    "two lengths": `${start}Content-Length: 0\r\n${length}\r\n${body}`,
    "a list of lengths": `${start}Content-Length: 0, ${body.length}\r\n\r\n${body}`,
    "a negative length": `${start}Content-Length: -1\r\n\r\n${body}`,
    "a length with a sign": `${start}Content-Length: +${body.length}\r\n\r\n${body}`,
    "a length in hexadecimal": `${start}Content-Length: 0x10\r\n\r\n${body}`,
    "a huge length": `${start}Content-Length: ${"9".repeat(40)}\r\n\r\n${body}`,
    "a space before the colon": `${start}Content-Length : ${body.length}\r\n\r\n${body}`,
    "an unknown coding": `${start}Transfer-Encoding: xchunked\r\n\r\n${chunk}0\r\n\r\n`,
    "chunked not last": `${start}Transfer-Encoding: chunked, identity\r\n\r\n${chunk}0\r\n\r\n`,
    "chunked twice": `${start}${chunked}${chunked}\r\n${chunk}0\r\n\r\n${second}`,
    "a chunk size that is not a number": `${start}${chunked}\r\nzz\r\n${body}\r\n0\r\n\r\n`,
    "a negative chunk size": `${start}${chunked}\r\n-1\r\n${body}\r\n0\r\n\r\n`,
    "a huge chunk size": `${start}${chunked}\r\n${"f".repeat(20)}\r\n${body}\r\n0\r\n\r\n`,
    "a chunk longer than its size": `${start}${chunked}\r\n1\r\n${body}\r\n0\r\n\r\n`,
    "a chunk without its end": `${start}${chunked}\r\n${chunk}`,
    "a truncated body": `${start}Content-Length: ${body.length + 100}\r\n\r\n${body}`,
    "no body": `${start}${length}\r\n`,
    "a folded header": `${start}X-Folded: one\r\n two\r\n${length}\r\n${body}`,
    "a header without a name": `${start}: value\r\n${length}\r\n${body}`,
    "a header without a colon": `${start}Nothing\r\n${length}\r\n${body}`,
    "a NUL in a header": `${start}X-Nul: a\u0000b\r\n${length}\r\n${body}`,
    "a bare line feed in a header": `${start}X-Feed: a\nX-More: b\r\n${length}\r\n${body}`,
    "a bare carriage return": `${start}X-Return: a\rb\r\n${length}\r\n${body}`,
    "headers beyond the limit": `${start}X-Long: ${"a".repeat(40_000)}\r\n${length}\r\n${body}`,
    "thousands of headers": `${start}${"X-Many: a\r\n".repeat(4000)}${length}\r\n${body}`,
    "no host": `POST ${path} HTTP/1.1\r\nConnection: close\r\n${length}\r\n${body}`,
    "two hosts": `${start}Host: other.example\r\n${length}\r\n${body}`,
    "another host": `POST ${path} HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n${length}\r\n${body}`,
    "an absolute URL as path": `POST http://other.example${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${length}\r\n${body}`,
    "a version that does not exist": `POST ${path} HTTP/9.9\r\nHost: localhost\r\n${length}\r\n${body}`,
    "an unknown method": `FETCH ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${length}\r\n${body}`,
    "a lowercase method": `post ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${length}\r\n${body}`,
    "a CONNECT request": `CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    "a path with a bad escape": `POST ${path}%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${length}\r\n${body}`,
    "a path with parent folders": `POST ${path}/../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${length}\r\n${body}`,
    "a very long path": `POST ${path}/${"a".repeat(12_000)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${length}\r\n${body}`,
    "a compressed body": `${start}Content-Encoding: zstd\r\n${length}\r\n${body}`,
    "a protocol upgrade": `${start}Upgrade: websocket\r\nConnection: upgrade\r\n${length}\r\n${body}`,
    "an unknown expectation": `${start}Expect: 200-maybe\r\n${length}\r\n${body}`,
    "not HTTP": "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001",
    "only line breaks": "\r\n".repeat(50),
  };
  return Object.entries(messages).map(([name, text]) => ({ name, bytes: Buffer.from(text, "latin1") }));
}
