import { callFailure } from "../server-client/call-failure.ts";

const mostBytes = 32 * 1024 * 1024;

/** What was piped in, as text. */
export async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > mostBytes) {
      const sentence = `Cannot read what is piped in: it is longer than ${mostBytes / 1024 ** 2} MiB`;
      throw callFailure({ kind: "words-wrong", sentence });
    }
  }
  return Buffer.concat(chunks).toString("utf8");
}
