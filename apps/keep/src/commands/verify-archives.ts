import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { type ArchivedPart, verifyArchive } from "../audit/archive/verify-archive.ts";
import type { ArchivedTree } from "../audit/verify/verify-log.ts";
import {
  exitCodes,
  readTrustedMaterial,
  type TrustedFiles,
  type VerificationRequest,
} from "./trusted-files.ts";

/** Verifies archive files without a database. Returns the exit code. */
export async function verifyArchives(
  files: readonly string[],
  request: VerificationRequest,
  print: (line: string) => void,
): Promise<number> {
  const trusted = await readTrustedMaterial(request, print);
  const verified = trusted === undefined ? undefined : await verifyArchiveFiles(files, trusted, print);
  if (verified === undefined) return exitCodes.unreadable;
  if (request.keysFile === undefined)
    print("Signatures were verified with the keys in the archives themselves; pass trusted keys with --keys");
  return verified.broken === 0 ? exitCodes.valid : exitCodes.invalid;
}

export type VerifiedArchives = {
  readonly broken: number;
  /** By origin, the tree at the end of the files, if they begin with the log's first record. */
  readonly trees: ReadonlyMap<string, ArchivedTree>;
};

/** Each file by itself, and that together they have every record between their first and last. */
export async function verifyArchiveFiles(
  files: readonly string[],
  { keys, checkpoints }: Pick<TrustedFiles, "keys" | "checkpoints">,
  print: (line: string) => void,
): Promise<VerifiedArchives | undefined> {
  const parts: ArchivedPart[] = [];
  let broken = 0;
  for (const file of files) {
    const lines = createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Infinity });
    const result = await verifyArchive(lines, { keys, trustedNotes: checkpoints }).catch(() => undefined);
    if (result === undefined) {
      print(`Cannot verify: the file "${file}" cannot be read`);
      return undefined;
    }
    if (result.isValid) {
      const { month, records, checkpoints: signed, trusted } = result;
      parts.push(...result.logs);
      print(
        `Archive of ${month} verified, no changes detected (records: ${records}, checkpoints: ${signed}, trusted checkpoints: ${trusted})`,
      );
    } else {
      broken += 1;
      print(`Archive ${basename(file)} failed verification at line ${result.line}: ${result.reason}`);
    }
  }
  const trees = new Map<string, ArchivedTree>();
  for (const [origin, ofLog] of Map.groupBy(parts, (part) => part.origin)) {
    const ordered = ofLog.toSorted((one, other) => one.first - other.first);
    const gap = findGap(ordered);
    const last = ordered.at(-1);
    if (gap !== undefined) {
      broken += 1;
      print(`Log ${origin}: ${gap}`);
    } else if (last !== undefined && ordered[0]?.first === 0) trees.set(origin, last);
  }
  return { broken, trees };
}

function findGap(parts: readonly ArchivedPart[]): string | undefined {
  for (const [at, part] of parts.entries()) {
    const before = parts[at - 1];
    if (before === undefined) continue;
    if (part.first > before.size)
      return `records ${before.size} to ${part.first - 1} are in none of the archives`;
    if (part.first < before.size) return `records from ${part.first} on are in two archives`;
    if (!Buffer.from(part.firstRoot).equals(before.root))
      return `the archive that begins with record ${part.first} does not continue the one before it`;
  }
  return undefined;
}
