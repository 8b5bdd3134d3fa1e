import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { addPathRule, createRuleset, landlockVersion, restrictSelf } from "./native-calls.ts";
import type { RestrictedPlan } from "./restricted-plan.ts";

/** Access rights, as bits. */
const fileRights = {
  execute: 1n << 0n,
  writeFile: 1n << 1n,
  readFile: 1n << 2n,
  readFolder: 1n << 3n,
  removeFile: 1n << 5n,
  makeSocket: 1n << 9n,
  truncate: 1n << 14n,
  controlDevice: 1n << 15n,
} as const;
/** Which rights each version of Landlock introduced. */
const rightsByVersion = [
  { version: 1, rights: 0x1fffn },
  // Moving files between folders.
  { version: 2, rights: 1n << 13n },
  { version: 3, rights: fileRights.truncate },
  { version: 5, rights: fileRights.controlDevice },
] as const;
const forDevices =
  fileRights.readFile | fileRights.writeFile | fileRights.truncate | fileRights.controlDevice;
const forFiles = fileRights.execute | forDevices;
/** Binding and connecting TCP sockets, from version 4. */
const networkRights = 3n;
/** Abstract Unix sockets and signals to processes outside, from version 6. */
const scopes = 3n;

/** Limits this thread, and the program that replaces it, to the plan's files. */
export function restrictFiles(plan: RestrictedPlan): void {
  const version = landlockVersion();
  if (version === 0) throw new Error("Landlock is not available");
  const handled = rightsByVersion
    .filter((each) => each.version <= version)
    .reduce((sum, { rights }) => sum | rights, 0n);
  const ruleset = createRuleset(rulesetAttributes(version, handled));
  const allow = (path: string, rights: bigint): void => addRule(ruleset, path, rights & handled);
  const read = fileRights.readFile | fileRights.readFolder;
  for (const path of [...plan.readablePaths, `/proc/${process.pid}`]) allow(path, read);
  for (const path of plan.executablePaths) allow(path, fileRights.execute | fileRights.readFile);
  for (const path of plan.devices) allow(path, forDevices);
  if (plan.socketFolder !== undefined) {
    allow(plan.socketFolder, read | fileRights.makeSocket | fileRights.removeFile);
  }
  restrictSelf(ruleset);
}

/** Older kernels know fewer fields and reject a longer structure. */
function rulesetAttributes(version: number, handled: bigint): Buffer {
  const fields = [handled, ...(version >= 4 ? [networkRights] : []), ...(version >= 6 ? [scopes] : [])];
  const attributes = Buffer.alloc(8 * fields.length);
  for (const [index, field] of fields.entries()) attributes.writeBigUInt64LE(field, 8 * index);
  return attributes;
}

/** A path that does not exist needs no rule. */
function addRule(ruleset: number, path: string, rights: bigint): void {
  const descriptor = openPath(path);
  if (descriptor === undefined) return;
  const rule = Buffer.alloc(12);
  rule.writeBigUInt64LE(fstatSync(descriptor).isDirectory() ? rights : rights & forFiles, 0);
  rule.writeInt32LE(descriptor, 8);
  addPathRule(ruleset, rule);
  closeSync(descriptor);
}

/** O_PATH, which Node.js has no name for: opens a path to name it, without access to its content. */
const pathOnly = 0o1000_0000;

function openPath(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | pathOnly);
  } catch {
    return undefined;
  }
}
