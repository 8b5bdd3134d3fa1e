/**
 * @module
 * Who may call: keys, and the hosts and sites that browsers name. One function decides on the head of a request,
 * before its body is read, whatever the family; it never looks at the path.
 * Imported by `server.ts`, which asks it, and by `commands/serve.ts`, which makes its settings.
 */
import type { CallHead } from "@hearth-and-keep/http-service";
import { requestFailure } from "../failures.ts";
import { loopbackSites, type Sites } from "./allowed-sites.ts";
import type { Caller } from "./caller.ts";
import { readCredentials } from "./credentials.ts";
import { type AccessKey, findKey } from "./keys.ts";
import { refuseAmbient } from "./refuse-ambient.ts";
import { refuseOtherSites } from "./refuse-other-sites.ts";

export type Access = {
  /** Without any, everybody may call, whatever credentials their client insists on sending. */
  readonly keys: readonly AccessKey[];
  /** Whether prompts that were read for one key may speed up another's; that lets a key guess what others asked. */
  readonly isCacheShared?: boolean;
  /** Those of this machine unless told. */
  readonly sites?: Sites;
};

/** Throws a RequestFailure when the caller may not go on. */
export function admit(head: CallHead, access: Access): void {
  refuseOtherSites(head, access.sites ?? loopbackSites);
  if (access.keys.length > 0) refuseAmbient(head);
  callerOf(head, access);
}

export function callerOf({ headers }: CallHead, { keys, isCacheShared = false }: Access): Caller {
  if (keys.length === 0) return { keyName: "none", cachePartition: "" };
  const [credential, ...others] = new Set(readCredentials(headers));
  if (credential === undefined) throw requestFailure({ kind: "key-missing" });
  if (others.length > 0) throw requestFailure({ kind: "keys-differ" });
  const key = findKey(keys, credential);
  if (key === undefined) throw requestFailure({ kind: "key-wrong" });
  return { keyName: key.name, cachePartition: isCacheShared ? "" : key.name };
}
