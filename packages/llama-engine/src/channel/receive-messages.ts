import type { Readable } from "node:stream";
import { findExceededLimit } from "@hearth-and-keep/bounded-json";
import { FrameError, FrameReader } from "./frames.ts";
import type { FromWorker } from "./messages.ts";
import { isFromWorker } from "./schema.ts";

/** The largest message is the tokens of a text. */
const jsonLimits = { maxDepth: 100, maxNodes: 1_000_000, maxValues: 4_000_000 };
/** Several times what all sequences of a model produce together. */
const maxFramesPerSecond = 20_000;

export type MessageHandlers = {
  readonly onMessage: (message: FromWorker) => void;
  /** Called once; nothing more is read from the worker then. */
  readonly onInvalid: (reason: string) => void;
};

/** Reads a worker's messages. Whatever it writes, this neither throws nor buffers more than one frame. */
export function receiveMessages(stream: Readable, { onMessage, onInvalid }: MessageHandlers): void {
  const reader = new FrameReader();
  const countFrame = createFrameCounter();
  const reject = (reason: string): void => {
    stream.destroy();
    onInvalid(reason);
  };
  stream.on("data", (chunk: Buffer) => {
    try {
      for (const frame of reader.push(chunk)) {
        if (stream.destroyed) return;
        const message = countFrame() ? parseMessage(frame) : "too many messages";
        if (typeof message === "string") reject(message);
        else onMessage(message);
      }
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      reject(error.message);
    }
  });
  // The exit of the worker is reported by its process.
  stream.on("error", () => undefined);
}

/** The message, or why it is none. */
function parseMessage(frame: Buffer): FromWorker | string {
  if (findExceededLimit(frame, jsonLimits) !== undefined) return "message too complex";
  let value: unknown;
  try {
    value = JSON.parse(frame.toString("utf8"));
  } catch {
    return "message is not JSON";
  }
  return isFromWorker(value) ? value : "unknown message";
}

/** Returns false for a frame above the limit. */
function createFrameCounter(): () => boolean {
  let second = 0;
  let frames = 0;
  return () => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, frames] = [now, 0];
    frames += 1;
    return frames <= maxFramesPerSecond;
  };
}
