/**
 * @module
 * What `keep diff` compares: two versions of a secret, or two folders. Values are read only to be shown, or where the
 * server does not compare them.
 * Imported by `commands/diff.ts`.
 */
import { secretValue } from "@hearth-and-keep/vault-contract";
import { clientFailure } from "../client-failure.ts";
import { findSecret } from "../find-secret.ts";
import type { VaultContext } from "../open-context.ts";

export type ShownValue = { readonly value: string; readonly encoding: "utf8" | "base64" };

/** Undefined where there is no value. */
export type Change = { readonly left: ShownValue | undefined; readonly right: ShownValue | undefined };

export type VersionDifference = {
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly outcome: "same" | "different";
  /** Absent unless values are shown and differ. */
  readonly change?: Change;
};

export type ComparedVersions = {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly isRevealing: boolean;
};

/** Values are read as they were written, without resolving references. */
export async function compareVersions(
  name: string,
  { from, to, isRevealing }: ComparedVersions,
  context: VaultContext,
): Promise<VersionDifference> {
  const { id, path, version: current } = await findSecret(name, context);
  const newer = to === undefined ? current : parseVersion(to);
  const older = from === undefined ? newer - 1 : parseVersion(from);
  if (older < 1) {
    const message = `${path} has no version before ${newer}`;
    throw clientFailure({ kind: "usage-error", message, next: 'run "keep history" to see its versions' });
  }
  const address = `/api/secrets/vaults/${context.vaultId}/secrets/${id}/value`;
  const read = (version: number) =>
    context.client.request(address, {
      shape: secretValue,
      query: { version: String(version) },
      subject: `${path}, version ${version}`,
    });
  const [left, right] = [await read(older), await read(newer)];
  const isSame = left.type === right.type && left.value === right.value && left.encoding === right.encoding;
  const difference = { path, from: older, to: newer, outcome: isSame ? "same" : "different" } as const;
  return isSame || !isRevealing
    ? difference
    : { ...difference, change: { left: shown(left), right: shown(right) } };
}

export function shown({ value, encoding }: ShownValue): ShownValue {
  return { value, encoding };
}

function parseVersion(text: string): number {
  if (!/^[1-9]\d{0,8}$/u.test(text))
    throw clientFailure({ kind: "usage-error", message: "A version is a positive number" });
  return Number(text);
}
