import type { Socket } from "node:net";

const lines: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** What is no HTTP, or comes too slowly, has no path and so no family; it gets a status and the end. */
export function answerUnreadable(problem: Error & { readonly code?: string }, socket: Socket): void {
  if (problem.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const line = lines[problem.code ?? ""] ?? "400 Bad Request";
  socket.end(`HTTP/1.1 ${line}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
