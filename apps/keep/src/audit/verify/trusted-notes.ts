import type { CheckpointKey } from "@hearth-and-keep/audit-chain";
import { nameKeys } from "@hearth-and-keep/audit-records";
import {
  parseCheckpoint,
  parseNote,
  type VerifiedCheckpoint,
  type VerifierKey,
  verifyCheckpoint,
} from "@hearth-and-keep/transparency-log";

export type TrustedNote = Pick<VerifiedCheckpoint, "origin" | "size" | "root">;

/** The keys under the name of one log. */
export async function verifierKeys(
  origin: string,
  keys: readonly CheckpointKey[],
): Promise<readonly VerifierKey[]> {
  return (await nameKeys(keys, origin)).map(({ key }) => key);
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
    const known = keysByOrigin.get(origin) ?? (await verifierKeys(origin, keys));
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
