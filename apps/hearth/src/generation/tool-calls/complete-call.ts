import type { Scanner } from "../stream-parser/scanner.ts";
import type { CallWriter } from "./call-writer.ts";
import { findDamagedCall, jsonShape } from "./json-calls.ts";

/** Ends a call that was not read to its end. `hasCalls`: whether there were calls in the same block before it. */
export function completeCall(scanner: Scanner, writer: CallWriter, hasCalls: boolean): void {
  if (scanner.endedBy === "length") return failUnfinished(scanner, writer);
  if (writer.isOpen) return writer.end();
  // What follows the calls of a list is not a call.
  if (hasCalls) return;
  const damaged = findDamagedCall(scanner.recorded, jsonShape);
  if (damaged === undefined) return writer.fail("malformed", scanner.recorded);
  writer.start(damaged.name, undefined);
  writer.writeArguments(damaged.argumentsText);
  writer.end();
}

/** The token limit cut the call, so that what is left of it must not become visible. */
export function failUnfinished(scanner: Scanner, writer: CallWriter): void {
  scanner.take(scanner.unread.length);
  writer.fail("unfinished", scanner.recorded);
}
