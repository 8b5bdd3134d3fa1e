import type { Readable, Writable } from "node:stream";
import {
  createMemoryCgroup,
  killLaunch,
  type Machine,
  type ProcessExit,
  spawnLaunch,
  waitForExit,
} from "@hearth-and-keep/engine-host";
import { type JobProgram, planJob } from "./plan-job.ts";
import {
  type JobStatus,
  type ResponseHeader,
  readHeader,
  responseHeaderBytes,
  writeRequest,
} from "./worker/wire-format.ts";

export type JobOptions = {
  readonly machine: Machine;
  readonly program: JobProgram;
  /** From the start of the process to its response. */
  readonly seconds: number;
  readonly memoryBytes: number;
  readonly maxResponseBytes: number;
  readonly signal: AbortSignal;
};

export type JobResult =
  | { readonly kind: "response"; readonly status: JobStatus; readonly content: Buffer }
  | { readonly kind: "timed-out" | "out-of-memory" | "crashed" };

/**
 * Parses one document or image in a process of its own. Settles when that process has exited: by itself, or killed at
 * the time limit, after an invalid response, or by the signal.
 */
export async function runJob(input: Uint8Array, options: JobOptions): Promise<JobResult> {
  const { machine, memoryBytes, signal } = options;
  const cgroup = machine.cgroup === undefined ? undefined : createMemoryCgroup(machine.cgroup, memoryBytes);
  const child = spawnLaunch(planJob({ ...options, cgroup }), ["pipe", "pipe", "pipe"]);
  const exited = waitForExit(child, cgroup);
  const kill = (): void => killLaunch(child);
  const deadline = AbortSignal.timeout(options.seconds * 1000);
  const stop = AbortSignal.any([signal, deadline]);
  stop.addEventListener("abort", kill, { once: true });
  if (stop.aborted) kill();
  const errors = collectEnd(child.stderr);
  try {
    sendInput(child.stdin, input);
    const response = await readResponse(child.stdout, options.maxResponseBytes);
    signal.throwIfAborted();
    if (response !== undefined) return response;
    if (deadline.aborted) return { kind: "timed-out" };
    kill();
    return explainExit(await exited, await errors);
  } finally {
    stop.removeEventListener("abort", kill);
    kill();
    await exited;
  }
}

/** A process that ends before it has read everything is reported by its exit. */
function sendInput(stdin: Writable | null, bytes: Uint8Array): void {
  stdin?.on("error", () => undefined);
  if (stdin !== null) writeRequest(stdin, bytes);
}

type Response = Extract<JobResult, { kind: "response" }>;

/** Undefined if the process does not respond, or not in this format, or with more than it may. */
async function readResponse(stdout: Readable | null, maxBytes: number): Promise<Response | undefined> {
  const chunks: Buffer[] = [];
  let received = 0;
  let header: ResponseHeader | undefined;
  for await (const chunk of stdout ?? []) {
    // Without an encoding, a stream has buffers.
    const bytes = chunk as Buffer;
    chunks.push(bytes);
    received += bytes.length;
    if (received < responseHeaderBytes) continue;
    header ??= readHeader(Buffer.concat(chunks));
    if (header === undefined || header.length > maxBytes) return undefined;
    const end = responseHeaderBytes + header.length;
    if (received >= end) {
      const content = Buffer.concat(chunks).subarray(responseHeaderBytes, end);
      return { kind: "response", status: header.status, content };
    }
  }
  return undefined;
}

/** What Node and the C++ library print when an allocation fails. */
const memoryErrors = /out of memory|allocation failed|bad_alloc/iu;

function explainExit(exit: ProcessExit, errors: string): JobResult {
  const ranOutOfMemory = exit.ranOutOfMemory || memoryErrors.test(errors);
  return { kind: ranOutOfMemory ? "out-of-memory" : "crashed" };
}

const maxErrorCharacters = 8192;

/** The end of its error output: searched for known errors, never shown. */
async function collectEnd(stderr: Readable | null): Promise<string> {
  let text = "";
  try {
    for await (const chunk of stderr ?? []) text = (text + String(chunk)).slice(-maxErrorCharacters);
  } catch {
    // The pipe broke when the process was killed.
  }
  return text;
}
