import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { channelDescriptor } from "./frames.ts";

/** The worker's end of the pipe, which it inherits when it is started. */
export function openChannel(): Duplex {
  return new Socket({ fd: channelDescriptor });
}
