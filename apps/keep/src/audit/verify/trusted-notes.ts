import type { CheckpointKey } from "@hearth-and-keep/audit-chain";
import {
  makeVerifierKey,
  parseCheckpoint,
  parseNote,
  type VerifiedCheckpoint,
  type VerifierKey,
  verifyCheckpoint,
} from "@hearth-and-keep/transparency-log";

export type TrustedNote = Pick<VerifiedCheckpoint, "origin" | "size" | "root">;

/** The last 32 bytes of an SPKI structure are the Ed25519 key. */
const publicKeyBytes = 32;

/** The keys under the name of one log. */
export function verifierKeys(
  origin: string,
  keys: readonly CheckpointKey[],
): Promise<readonly VerifierKey[]> {
  return Promise.all(
    keys.map(({ public_key }) =>
      makeVerifierKey({
        name: origin,
        type: "signature",
        publicKey: Uint8Array.from(Buffer.from(public_key, "base64").subarray(-publicKeyBytes)),
      }),
    ),
  );
}

/** Notes that none of the keys signed are reported. */
export async function readTrustedNotes(
  notes: readonly string[],
  keys: readonly CheckpointKey[],
  report: (finding: string) => void,
): Promise<readonly TrustedNote[]> {
  const trusted: TrustedNote[] = [];
  const keysByOrigin = new Map<string, readonly VerifierKey[]>();
  for (const note of notes) {
    const origin = parseCheckpoint(parseNote(note)?.text ?? "")?.origin ?? "";
    const known = keysByOrigin.get(origin) ?? (origin === "" ? [] : await verifierKeys(origin, keys));
    keysByOrigin.set(origin, known);
    const verified = await verifyCheckpoint(note, { origin, keys: known });
    if (verified === undefined)
      report(
        `A trusted checkpoint of ${origin === "" ? "an unknown log" : origin} is not signed by a known key`,
      );
    else trusted.push(verified);
  }
  return trusted;
}
