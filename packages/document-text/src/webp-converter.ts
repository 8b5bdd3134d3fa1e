import { inspectMachine, type Machine } from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import { findProgram } from "./plan-job.ts";
import { ProcessSlots } from "./process-slots.ts";
import { type JobResult, runJob } from "./sandboxed-job.ts";

export type WebpConverter = {
  /** The image as PNG, or why it cannot be converted. Rejects with the signal's reason. */
  convert(bytes: Uint8Array, signal: AbortSignal): Promise<Buffer | RejectedWebp>;
};

/** Completes a sentence that starts with the image's path in the request. */
export type RejectedWebp = { readonly reason: string };

export type WebpConverterOptions = {
  /** Inspected for the first image if absent. */
  readonly machine?: Machine;
  readonly limits?: Partial<WebpLimits>;
};

type WebpLimits = typeof defaultLimits;

const mebibyte = 1024 ** 2;
const defaultLimits = {
  /** An image that decodes to more does not fit into the memory. */
  pixels: 4096 ** 2,
  pngBytes: 64 * mebibyte,
  seconds: 20,
  memoryBytes: 512 * mebibyte,
  processes: 2,
  waiting: 32,
};

/** Starts nothing until the first image. */
export function createWebpConverter(options: WebpConverterOptions = {}): WebpConverter {
  const limits = { ...defaultLimits, ...options.limits };
  const slots = new ProcessSlots(limits);
  let { machine } = options;
  const run = (bytes: Uint8Array, signal: AbortSignal): Promise<JobResult> => {
    machine ??= inspectMachine();
    const { seconds, memoryBytes, pngBytes: maxResponseBytes } = limits;
    const program = findProgram("webp", [limits.pixels]);
    return runJob(bytes, { machine, program, seconds, memoryBytes, maxResponseBytes, signal });
  };
  return {
    async convert(bytes, signal) {
      try {
        return toImage(await slots.run(() => run(bytes, signal), signal));
      } catch (error) {
        // Too many are waiting, or this machine has no sandbox.
        if (error instanceof FailureError) return { reason: "cannot be decoded now; send a PNG or JPEG" };
        throw error;
      }
    },
  };
}

function toImage(result: JobResult): Buffer | RejectedWebp {
  if (result.kind !== "response")
    return { reason: "is a WebP that takes too much memory or time; send a PNG or JPEG" };
  return result.status === "png" ? result.content : { reason: "is a damaged WebP; save it again" };
}
