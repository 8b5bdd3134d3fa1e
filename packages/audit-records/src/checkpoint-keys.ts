import type { CheckpointKey } from "@hearth-and-keep/audit-chain";
import {
  type Bytes,
  base64Bytes,
  equalBytes,
  isKeyName,
  makeVerifierKey,
  type VerifierKey,
} from "@hearth-and-keep/transparency-log";

export type NamedKey = { readonly key: VerifierKey; readonly listed: CheckpointKey };

/** The keys that are Ed25519 keys; a log's name is the name of its key. */
export async function nameKeys(keys: readonly CheckpointKey[], origin: string): Promise<readonly NamedKey[]> {
  if (!isKeyName(origin)) return [];
  const named = keys.map(async (listed) => {
    const publicKey = readPublicKey(listed.public_key);
    if (publicKey === undefined) return [];
    return [{ listed, key: await makeVerifierKey({ name: origin, type: "signature", publicKey }) }];
  });
  return (await Promise.all(named)).flat();
}

/** SubjectPublicKeyInfo of an Ed25519 key (RFC 8410) up to the key itself. */
const publicKeyPrefix = Uint8Array.of(0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00);
const publicKeyLength = 32;

function readPublicKey(encoded: string): Bytes | undefined {
  const bytes = base64Bytes(encoded);
  if (bytes?.length !== publicKeyPrefix.length + publicKeyLength) return undefined;
  const prefix = bytes.slice(0, publicKeyPrefix.length);
  return equalBytes(prefix, publicKeyPrefix) ? bytes.slice(publicKeyPrefix.length) : undefined;
}

export function includesKey(keys: readonly CheckpointKey[], key: CheckpointKey): boolean {
  return keys.some(
    ({ version, public_key: encoded }) => version === key.version && encoded === key.public_key,
  );
}
