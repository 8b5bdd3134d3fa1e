import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { createHostileFrames } from "./hostile-frames.ts";

// The real worker. Before every message with output it writes the hostile frames of the number in the file "seed"
// beside it, once for each number; without the file it is a worker like any other.

const framesPerSeed = 10;
let lastSeed = "";

function readSeed(): string {
  try {
    return readFileSync(join(import.meta.dirname, "seed"), "utf8");
  } catch {
    return "";
  }
}

Socket.prototype.uncork = function uncorkAfterHostileFrames(this: Socket): void {
  const seed = readSeed();
  if (seed !== "" && seed !== lastSeed && this.writableLength > heartbeatLength) {
    lastSeed = seed;
    const frames = createHostileFrames(Number(seed), framesPerSeed);
    Duplex.prototype.uncork.call(this);
    for (const frame of frames) this.write(frame);
    return;
  }
  Duplex.prototype.uncork.call(this);
};

/** Heartbeats are sent at any time; hostile frames are to arrive during a response. */
const heartbeatLength = 80;

await import("../../../packages/llama-engine/src/worker/main.ts");
