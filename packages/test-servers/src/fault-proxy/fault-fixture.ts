import type { ArmedFault, ConnectionFault, Ending } from "./fault.ts";
import { changeContentLength } from "./http-head.ts";
import type { ForwardedChunk, Step } from "./step.ts";

/** Applies one fault to one direction of one connection. */
type FaultStep = (chunk: ForwardedChunk) => Step[];

export function createFaultStep({ fault, strike }: ArmedFault): FaultStep {
  switch (fault.kind) {
    case "delay":
      return (chunk) =>
        chunk.startsTurn && strike() ? [{ type: "wait", milliseconds: fault.milliseconds }, chunk] : [chunk];
    case "throttle":
      return (chunk) => throttle(chunk, fault.bytesPerSecond);
    case "stall":
      return atStreamByte(fault.afterBytes, strike, (before, after) => [before, { type: "hold" }, after]);
    case "cut":
      return atStreamByte(fault.afterBytes, strike, (before) => [
        before,
        ...(fault.how === "reset" && fault.afterBytes > 0 ? [timeToRead] : []),
        end(fault.how),
      ]);
    case "truncate":
      return inBody(fault.bodyBytes, (chunk, offset) =>
        strike() ? [upTo(chunk, offset), end("close")] : [chunk],
      );
    case "flip-bit":
      return inBody(fault.bodyByte, (chunk, offset) =>
        strike() ? [flipBit(chunk, offset, fault.bit ?? 0)] : [chunk],
      );
    case "lie-about-length":
      return (chunk) => falsifyLength(chunk, fault, strike);
  }
}

/** A reset discards what a busy client has not read yet, so that it would receive less than the fault says. */
const timeToRead: Step = { type: "wait", milliseconds: 500 };

const throttleSliceMilliseconds = 50;

function throttle(chunk: ForwardedChunk, bytesPerSecond: number): Step[] {
  const sliceBytes = Math.max(1, Math.floor((bytesPerSecond * throttleSliceMilliseconds) / 1000));
  const steps: Step[] = [];
  for (let offset = 0; offset < chunk.bytes.length; offset += sliceBytes) {
    const bytes = chunk.bytes.subarray(offset, offset + sliceBytes);
    steps.push({ ...chunk, bytes, startsTurn: chunk.startsTurn && offset === 0 });
    steps.push({ type: "wait", milliseconds: (bytes.length * 1000) / bytesPerSecond });
  }
  return steps;
}

/** Counts from when the fault was set or the connection opened, whichever is later; the first chunk is empty. */
function atStreamByte(
  limit: number,
  strike: () => boolean,
  act: (before: ForwardedChunk, after: ForwardedChunk) => Step[],
): FaultStep {
  let passed = 0;
  let isOver = false;
  return (chunk) => {
    const remaining = limit - passed;
    passed += chunk.bytes.length;
    if (isOver || chunk.bytes.length < remaining || !strike()) return [chunk];
    isOver = true;
    return act(upTo(chunk, remaining), {
      ...chunk,
      bytes: chunk.bytes.subarray(remaining),
      startsTurn: chunk.startsTurn && remaining === 0,
    });
  };
}

function end(how: Ending): Step {
  return { type: "end", how };
}

/** Acts on the chunk that contains this byte of a body; the count restarts with every turn. */
function inBody(bodyByte: number, act: (chunk: ForwardedChunk, offset: number) => Step[]): FaultStep {
  let passed = 0;
  return (chunk) => {
    if (chunk.startsTurn) passed = 0;
    if (chunk.part === "head") return [chunk];
    const offset = bodyByte - passed;
    passed += chunk.bytes.length;
    return offset >= 0 && offset < chunk.bytes.length ? act(chunk, offset) : [chunk];
  };
}

function upTo(chunk: ForwardedChunk, length: number): ForwardedChunk {
  return { ...chunk, bytes: chunk.bytes.subarray(0, length) };
}

function flipBit(chunk: ForwardedChunk, offset: number, bit: number): ForwardedChunk {
  const bytes = Buffer.from(chunk.bytes);
  bytes.writeUInt8(bytes.readUInt8(offset) ^ (1 << bit), offset);
  return { ...chunk, bytes };
}

function falsifyLength(
  chunk: ForwardedChunk,
  fault: Extract<ConnectionFault, { kind: "lie-about-length" }>,
  strike: () => boolean,
): Step[] {
  const changed = chunk.part === "head" ? changeContentLength(chunk.bytes, fault.addBytes) : undefined;
  return [changed !== undefined && strike() ? { ...chunk, bytes: changed } : chunk];
}
