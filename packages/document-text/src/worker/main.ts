/**
 * @module
 * The child process that parses one document or image: reads it from standard input, writes its text, its pixels as
 * PNG, or the reason why there are none to standard output, and exits. Its arguments are what to do, and the limits.
 * Nothing imports it: the reader starts it by its path, in a sandbox without network and files, and does not trust
 * what it responds.
 */
import { finished } from "node:stream/promises";
import { encodeResponse, type JobResponse, requestHeaderBytes } from "./wire-format.ts";

// The parser prints warnings, and standard output is for the response.
for (const name of ["log", "info", "warn", "error", "debug"] as const) console[name] = () => undefined;
// The parser abandons pages that it cannot read without waiting for all of their streams.
process.on("unhandledRejection", () => undefined);

const [job, ...limits] = process.argv.slice(2);
const [input, run] = await Promise.all([readInput(), loadJob()]);
process.stdout.end(encodeResponse(await run(input)));
await finished(process.stdout);
process.exit(0);

async function loadJob(): Promise<(input: Uint8Array) => Promise<JobResponse>> {
  const [first = 0, second = 0] = limits.map(Number);
  if (job === "webp") {
    const { convertWebp } = await import("./convert-webp.ts");
    return (bytes) => convertWebp(bytes, first);
  }
  const { extractText } = await import("./extract-text.ts");
  return (bytes) => extractText(bytes, { maxPages: first, maxTextBytes: second });
}

async function readInput(): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  const request = Buffer.concat(chunks);
  const length = request.readUInt32LE(0);
  // A copy of its own, because parsers take the memory over.
  return Uint8Array.from(request.subarray(requestHeaderBytes, requestHeaderBytes + length));
}
