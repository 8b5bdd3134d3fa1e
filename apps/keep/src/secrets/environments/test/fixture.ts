/**
 * @module
 * A vault with three environments and a base.
 * Imported by tests only.
 */
import { type OpenedVault, openVault } from "../../../test/open-vault.ts";
import type { TestKeep } from "../../../test/start-test-keep.ts";

export async function startEnvironments(keep: TestKeep): Promise<OpenedVault> {
  const vault = await openVault(keep);
  const [status] = await vault.json("PATCH", "", { environments: ["dev", "staging", "prod"], base: "/base" });
  if (status !== 200) throw new Error(`Cannot set the environments: ${status}`);
  return vault;
}

/** By path. */
export async function writeAll(vault: OpenedVault, secrets: Readonly<Record<string, string>>): Promise<void> {
  const operations = Object.entries(secrets).map(([path, value]) => ({ op: "put", path, value }));
  const [status, body] = await vault.json("POST", "/batch", { operations });
  if (status !== 200) throw new Error(`Cannot write the secrets: ${status} ${body.code}`);
}
