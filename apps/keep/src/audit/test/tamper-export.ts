/**
 * @module
 * Ways to tamper with an audit log: in an export, or in the database as a superuser. Each returns the record that
 * verification must name.
 * Imported by tests only.
 */
import { createHash } from "node:crypto";
import {
  type AuditLink,
  canonicalJson,
  chainFormat,
  type ExportLine,
  readExportLine,
  writeExportLine,
} from "@hearth-and-keep/audit-chain";
import type { Random } from "../../test/seeded-random.ts";

type Tampered = { readonly lines: readonly string[]; readonly firstBad: number };

type LinkLine = Extract<ExportLine, { readonly type: "link" }>;

/** The lines of an export, and the sequence numbers of its checkpoints. */
export type ParsedExport = {
  readonly lines: readonly ExportLine[];
  readonly checkpointed: readonly number[];
};

export function parseExport(text: string): ParsedExport {
  const lines = text.split("\n").flatMap((line) => readExportLine(line) ?? []);
  const checkpointed = lines.flatMap((line) => (line.type === "checkpoint" ? [line.seq] : []));
  return { lines, checkpointed };
}

type Tamper = (parsed: ParsedExport, random: Random) => Tampered;

const write = (lines: readonly ExportLine[]): readonly string[] =>
  lines.map((line) => writeExportLine(line).trimEnd());
const linksOf = ({ lines }: ParsedExport): readonly LinkLine[] =>
  lines.filter((line) => line.type === "link");
const replace = ({ lines }: ParsedExport, changed: LinkLine): readonly ExportLine[] =>
  lines.map((line) => (line.type === "link" && line.seq === changed.seq ? changed : line));

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

/** The hash that a forger would compute; implemented independently of the verifier. */
function forgeHash(chain: string, link: AuditLink): string {
  const [second = "", rest = ""] = link.at.split(".");
  const microseconds = BigInt(Date.parse(`${second}Z`)) * 1000n + BigInt(rest.slice(0, 6));
  return createHash("sha256")
    .update(`${chainFormat}\0`)
    .update(Buffer.from(chain.replaceAll("-", ""), "hex"))
    .update(int64(BigInt(link.seq)))
    .update(int64(microseconds))
    .update(Buffer.from(link.previous + link.body_hash, "hex"))
    .update(Buffer.from((link.subject_id ?? "0".repeat(32)).replaceAll("-", ""), "hex"))
    .update(int64(BigInt(link.revision ?? 0)))
    .digest("hex");
}

function withBody(link: LinkLine, random: Random): LinkLine {
  const body = { type: "value-read", path: `/forged/${random.between(0, 1e9)}`, by: "server" };
  return { ...link, body, body_hash: createHash("sha256").update(canonicalJson(body)).digest("hex") };
}

/** Recomputes all hashes from the changed link on and drops the checkpoints of changed links. */
function rehash(parsed: ParsedExport, changed: LinkLine, chain: string): readonly ExportLine[] {
  let previous = changed.previous;
  return parsed.lines.flatMap((line): readonly ExportLine[] => {
    if (line.type === "checkpoint" && line.seq >= changed.seq) return [];
    if (line.type === "end") return [{ ...line, hash: previous }];
    if (line.type !== "link" || line.seq < changed.seq) return [line];
    const relinked = { ...(line.seq === changed.seq ? changed : line), previous };
    previous = forgeHash(chain, relinked);
    return [{ ...relinked, hash: previous }];
  });
}

const randomHash = (random: Random): string =>
  createHash("sha256")
    .update(String(random.between(0, 1e9)))
    .digest("hex");

function firstCheckpointFrom({ checkpointed }: ParsedExport, seq: number): number {
  return checkpointed.find((candidate) => candidate >= seq) ?? -1;
}

const pickLink = (parsed: ParsedExport, random: Random): LinkLine => random.pick(linksOf(parsed));

/** Assumes trusted checkpoints of the same records as in the export, including the last one. */
export function tampersOf(chain: string): Readonly<Record<string, Tamper>> {
  return { ...rowChanges(chain), ...forgeries(chain), ...orderChanges };
}

/** Changes without recomputing any hash. */
function rowChanges(chain: string): Readonly<Record<string, Tamper>> {
  return {
    body: (parsed, random) => {
      const link = pickLink(parsed, random);
      const { body } = withBody(link, random);
      return { lines: write(replace(parsed, { ...link, body })), firstBad: link.seq };
    },
    "one field": (parsed, random) => {
      const link = pickLink(parsed, random);
      const name = random.pick(["previous", "body_hash", "hash"] as const);
      return { lines: write(replace(parsed, { ...link, [name]: randomHash(random) })), firstBad: link.seq };
    },
    subject: (parsed, random) => {
      const link = pickLink(parsed, random);
      const revision = (link.revision ?? 0) + random.between(1, 9);
      return { lines: write(replace(parsed, { ...link, subject_id: chain, revision })), firstBad: link.seq };
    },
    time: (parsed, random) => {
      const link = pickLink(parsed, random);
      const at = link.at.replace(/\.\d{6}Z$/u, `.${String(random.between(0, 999_999)).padStart(6, "0")}Z`);
      const isOther = at !== link.at;
      return {
        lines: write(replace(parsed, { ...link, at: isOther ? at : "2020-01-01T00:00:00.000000Z" })),
        firstBad: link.seq,
      };
    },
  };
}

/** Changes with recomputed hashes. */
function forgeries(chain: string): Readonly<Record<string, Tamper>> {
  return {
    "body and own hash": (parsed, random) => {
      const link = withBody(pickLink(parsed, random), random);
      const changed = { ...link, hash: forgeHash(chain, link) };
      const isChecked = parsed.checkpointed.includes(link.seq);
      return { lines: write(replace(parsed, changed)), firstBad: isChecked ? link.seq : link.seq + 1 };
    },
    "body and all later hashes": (parsed, random) => {
      const link = withBody(pickLink(parsed, random), random);
      return { lines: write(rehash(parsed, link, chain)), firstBad: firstCheckpointFrom(parsed, link.seq) };
    },
    "earlier time and all later hashes": (parsed, random) => {
      const link = random.pick(linksOf(parsed).slice(1));
      const changed = { ...link, at: "2020-01-01T00:00:00.000000Z" };
      return { lines: write(rehash(parsed, changed, chain)), firstBad: link.seq };
    },
    "inserted record": (parsed, random) => {
      const link = pickLink(parsed, random);
      const forged = withBody({ ...link, seq: link.seq + 1, previous: link.hash }, random);
      const inserted = { ...forged, hash: forgeHash(chain, forged) };
      const lines = parsed.lines.flatMap((line) => (line === link ? [line, inserted] : [line]));
      return { lines: write(lines), firstBad: inserted.seq };
    },
  };
}

const orderChanges: Readonly<Record<string, Tamper>> = {
  "deleted record": (parsed, random) => {
    const { seq } = pickLink(parsed, random);
    return {
      lines: write(parsed.lines.filter((line) => line.type !== "link" || line.seq !== seq)),
      firstBad: seq,
    };
  },
  "swapped records": (parsed, random) => {
    const links = linksOf(parsed);
    const first = random.between(0, links.length - 2);
    const [one, other] = [links[first], links[random.between(first + 1, links.length - 1)]];
    const lines = parsed.lines.map((line) =>
      line === one ? (other ?? line) : line === other ? (one ?? line) : line,
    );
    return { lines: write(lines), firstBad: first + 1 };
  },
  "truncated tail": (parsed, random) => {
    const links = linksOf(parsed);
    const kept = random.between(1, links.length - 1);
    const lines = parsed.lines.flatMap((line): readonly ExportLine[] => {
      if (line.type === "end") return [{ ...line, seq: kept, hash: links[kept - 1]?.hash ?? "" }];
      return line.type !== "chain" && line.seq > kept ? [] : [line];
    });
    return { lines: write(lines), firstBad: kept + 1 };
  },
  "one character": (parsed, random) => {
    const { seq } = pickLink(parsed, random);
    const lineIndex = parsed.lines.findIndex((line) => line.type === "link" && line.seq === seq);
    const lines = write(parsed.lines).map((text, index) => {
      if (index !== lineIndex) return text;
      const at = random.between(0, text.length - 1);
      const other = text[at] === "7" ? "8" : "7";
      return text.slice(0, at) + other + text.slice(at + 1);
    });
    return { lines, firstBad: seq };
  },
};
