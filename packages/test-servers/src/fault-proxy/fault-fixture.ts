import type { ArmedFault, ConnectionFault, Ending } from "./fault.ts";
import { changeContentLength } from "./http-head.ts";
import type { ForwardedChunk, Step } from "./step.ts";

/** One fault at work on one direction of one connection. */
type FaultStage = (piece: ForwardedChunk) => Step[];

export function createFaultStep({ fault, strike }: ArmedFault): FaultStage {
  switch (fault.kind) {
    case "delay":
      return (piece) =>
        piece.startsTurn && strike() ? [{ type: "wait", milliseconds: fault.milliseconds }, piece] : [piece];
    case "throttle":
      return (piece) => throttle(piece, fault.bytesPerSecond);
    case "stall":
      return atStreamByte(fault.afterBytes, strike, (before, after) => [before, { type: "hold" }, after]);
    case "cut":
      return atStreamByte(fault.afterBytes, strike, (before) => [before, end(fault.how)]);
    case "truncate":
      return inBody(fault.bodyBytes, (piece, offset) =>
        strike() ? [upTo(piece, offset), end("close")] : [piece],
      );
    case "flip-bit":
      return inBody(fault.bodyByte, (piece, offset) =>
        strike() ? [flipBit(piece, offset, fault.bit ?? 0)] : [piece],
      );
    case "lie-about-length":
      return (piece) => lieAboutLength(piece, fault, strike);
  }
}

const throttleSliceMilliseconds = 50;

function throttle(piece: ForwardedChunk, bytesPerSecond: number): Step[] {
  const sliceBytes = Math.max(1, Math.floor((bytesPerSecond * throttleSliceMilliseconds) / 1000));
  const steps: Step[] = [];
  for (let offset = 0; offset < piece.bytes.length; offset += sliceBytes) {
    const bytes = piece.bytes.subarray(offset, offset + sliceBytes);
    steps.push({ ...piece, bytes, startsTurn: piece.startsTurn && offset === 0 });
    steps.push({ type: "wait", milliseconds: (bytes.length * 1000) / bytesPerSecond });
  }
  return steps;
}

/** Counts since the fault was set or the connection opened, whichever is later; an empty piece opens it. */
function atStreamByte(
  limit: number,
  strike: () => boolean,
  act: (before: ForwardedChunk, after: ForwardedChunk) => Step[],
): FaultStage {
  let passed = 0;
  let isOver = false;
  return (piece) => {
    const left = limit - passed;
    passed += piece.bytes.length;
    if (isOver || piece.bytes.length < left || !strike()) return [piece];
    isOver = true;
    return act(upTo(piece, left), {
      ...piece,
      bytes: piece.bytes.subarray(left),
      startsTurn: piece.startsTurn && left === 0,
    });
  };
}

function end(how: Ending): Step {
  return { type: "end", how };
}

/** Acts on the piece that holds this byte of a body; the count begins anew with every turn. */
function inBody(bodyByte: number, act: (piece: ForwardedChunk, offset: number) => Step[]): FaultStage {
  let passed = 0;
  return (piece) => {
    if (piece.startsTurn) passed = 0;
    if (piece.part === "head") return [piece];
    const offset = bodyByte - passed;
    passed += piece.bytes.length;
    return offset >= 0 && offset < piece.bytes.length ? act(piece, offset) : [piece];
  };
}

function upTo(piece: ForwardedChunk, length: number): ForwardedChunk {
  return { ...piece, bytes: piece.bytes.subarray(0, length) };
}

function flipBit(piece: ForwardedChunk, offset: number, bit: number): ForwardedChunk {
  const bytes = Buffer.from(piece.bytes);
  bytes.writeUInt8(bytes.readUInt8(offset) ^ (1 << bit), offset);
  return { ...piece, bytes };
}

function lieAboutLength(
  piece: ForwardedChunk,
  fault: Extract<ConnectionFault, { kind: "lie-about-length" }>,
  strike: () => boolean,
): Step[] {
  const changed = piece.part === "head" ? changeContentLength(piece.bytes, fault.addBytes) : undefined;
  return [changed !== undefined && strike() ? { ...piece, bytes: changed } : piece];
}
