import { callFailure } from "../server-client/call-failure.ts";

const maxBytes = 32 * 1024 * 1024;

/** Reads piped input as text. */
export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) {
      const message = `Piped input is larger than ${maxBytes / 1024 ** 2} MiB`;
      throw callFailure({ kind: "usage-error", message });
    }
  }
  return Buffer.concat(chunks).toString("utf8");
}
