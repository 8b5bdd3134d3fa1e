/**
 * @module
 * Ways to tamper with an audit log: with the lines of an export, as whoever keeps it could, and with the rows of the
 * database, as a superuser could. Each says which row a verifier has to name.
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

/** An export taken apart: its links, and everything that is not a link where it stood. */
export type TakenApart = { readonly lines: readonly ExportLine[]; readonly checkpointed: readonly number[] };

export function takeApart(text: string): TakenApart {
  const lines = text.split("\n").flatMap((line) => readExportLine(line) ?? []);
  const checkpointed = lines.flatMap((line) => (line.type === "checkpoint" ? [line.seq] : []));
  return { lines, checkpointed };
}

type Tamper = (taken: TakenApart, random: Random) => Tampered;

const write = (lines: readonly ExportLine[]): readonly string[] =>
  lines.map((line) => writeExportLine(line).trimEnd());
const linksOf = ({ lines }: TakenApart): readonly LinkLine[] => lines.filter((line) => line.type === "link");
const replace = ({ lines }: TakenApart, changed: LinkLine): readonly ExportLine[] =>
  lines.map((line) => (line.type === "link" && line.seq === changed.seq ? changed : line));

function number(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

/** The hash that a forger would give to a link; written apart from the verifier, so that both are right or neither. */
function forgeHash(chain: string, link: AuditLink): string {
  const [second = "", rest = ""] = link.at.split(".");
  const microseconds = BigInt(Date.parse(`${second}Z`)) * 1000n + BigInt(rest.slice(0, 6));
  return createHash("sha256")
    .update(`${chainFormat}\0`)
    .update(Buffer.from(chain.replaceAll("-", ""), "hex"))
    .update(number(BigInt(link.seq)))
    .update(number(microseconds))
    .update(Buffer.from(link.previous + link.body_hash, "hex"))
    .update(Buffer.from((link.subject_id ?? "0".repeat(32)).replaceAll("-", ""), "hex"))
    .update(number(BigInt(link.revision ?? 0)))
    .digest("hex");
}

function withBody(link: LinkLine, random: Random): LinkLine {
  const body = { type: "value-read", path: `/forged/${random.between(0, 1e9)}`, by: "server" };
  return { ...link, body, body_hash: createHash("sha256").update(canonicalJson(body)).digest("hex") };
}

/** From the first changed link on, everything is made to fit again; checkpoints of what changed are left out. */
function refit(taken: TakenApart, changed: LinkLine, chain: string): readonly ExportLine[] {
  let previous = changed.previous;
  return taken.lines.flatMap((line): readonly ExportLine[] => {
    if (line.type === "checkpoint" && line.seq >= changed.seq) return [];
    if (line.type === "end") return [{ ...line, hash: previous }];
    if (line.type !== "link" || line.seq < changed.seq) return [line];
    const fitted = { ...(line.seq === changed.seq ? changed : line), previous };
    previous = forgeHash(chain, fitted);
    return [{ ...fitted, hash: previous }];
  });
}

const otherHash = (random: Random): string =>
  createHash("sha256")
    .update(String(random.between(0, 1e9)))
    .digest("hex");

function firstCheckpointFrom({ checkpointed }: TakenApart, seq: number): number {
  return checkpointed.find((candidate) => candidate >= seq) ?? -1;
}

const choose = (taken: TakenApart, random: Random): LinkLine => random.pick(linksOf(taken));

/** Checkpoints kept apart are made of the same rows as those in the export; the last row always has one. */
export function tampersOf(chain: string): Readonly<Record<string, Tamper>> {
  return { ...changesOfRows(chain), ...forgeries(chain), ...changesOfOrder };
}

/** What somebody does who does not know about hashes. */
function changesOfRows(chain: string): Readonly<Record<string, Tamper>> {
  return {
    "what it says": (taken, random) => {
      const link = choose(taken, random);
      const { body } = withBody(link, random);
      return { lines: write(replace(taken, { ...link, body })), firstBad: link.seq };
    },
    "one field": (taken, random) => {
      const link = choose(taken, random);
      const name = random.pick(["previous", "body_hash", "hash"] as const);
      return { lines: write(replace(taken, { ...link, [name]: otherHash(random) })), firstBad: link.seq };
    },
    "the secret it is about": (taken, random) => {
      const link = choose(taken, random);
      const revision = (link.revision ?? 0) + random.between(1, 9);
      return { lines: write(replace(taken, { ...link, subject_id: chain, revision })), firstBad: link.seq };
    },
    "the time": (taken, random) => {
      const link = choose(taken, random);
      const at = link.at.replace(/\.\d{6}Z$/u, `.${String(random.between(0, 999_999)).padStart(6, "0")}Z`);
      const isOther = at !== link.at;
      return {
        lines: write(replace(taken, { ...link, at: isOther ? at : "2020-01-01T00:00:00.000000Z" })),
        firstBad: link.seq,
      };
    },
  };
}

/** What somebody does who makes hashes anew. */
function forgeries(chain: string): Readonly<Record<string, Tamper>> {
  return {
    "its own hash too": (taken, random) => {
      const link = withBody(choose(taken, random), random);
      const changed = { ...link, hash: forgeHash(chain, link) };
      const isChecked = taken.checkpointed.includes(link.seq);
      return { lines: write(replace(taken, changed)), firstBad: isChecked ? link.seq : link.seq + 1 };
    },
    "all hashes after it": (taken, random) => {
      const link = withBody(choose(taken, random), random);
      return { lines: write(refit(taken, link, chain)), firstBad: firstCheckpointFrom(taken, link.seq) };
    },
    "a clock put back, and all hashes after it": (taken, random) => {
      const link = random.pick(linksOf(taken).slice(1));
      const changed = { ...link, at: "2020-01-01T00:00:00.000000Z" };
      return { lines: write(refit(taken, changed, chain)), firstBad: link.seq };
    },
    "a row more": (taken, random) => {
      const link = choose(taken, random);
      const forged = withBody({ ...link, seq: link.seq + 1, previous: link.hash }, random);
      const inserted = { ...forged, hash: forgeHash(chain, forged) };
      const lines = taken.lines.flatMap((line) => (line === link ? [line, inserted] : [line]));
      return { lines: write(lines), firstBad: inserted.seq };
    },
  };
}

const changesOfOrder: Readonly<Record<string, Tamper>> = {
  "a row less": (taken, random) => {
    const { seq } = choose(taken, random);
    return {
      lines: write(taken.lines.filter((line) => line.type !== "link" || line.seq !== seq)),
      firstBad: seq,
    };
  },
  "two rows in each other's place": (taken, random) => {
    const links = linksOf(taken);
    const first = random.between(0, links.length - 2);
    const [one, other] = [links[first], links[random.between(first + 1, links.length - 1)]];
    const lines = taken.lines.map((line) =>
      line === one ? (other ?? line) : line === other ? (one ?? line) : line,
    );
    return { lines: write(lines), firstBad: first + 1 };
  },
  "the tail cut off": (taken, random) => {
    const links = linksOf(taken);
    const kept = random.between(1, links.length - 1);
    const lines = taken.lines.flatMap((line): readonly ExportLine[] => {
      if (line.type === "end") return [{ ...line, seq: kept, hash: links[kept - 1]?.hash ?? "" }];
      return line.type !== "chain" && line.seq > kept ? [] : [line];
    });
    return { lines: write(lines), firstBad: kept + 1 };
  },
  "one character": (taken, random) => {
    const { seq } = choose(taken, random);
    const place = taken.lines.findIndex((line) => line.type === "link" && line.seq === seq);
    const lines = write(taken.lines).map((text, index) => {
      if (index !== place) return text;
      const at = random.between(0, text.length - 1);
      const other = text[at] === "7" ? "8" : "7";
      return text.slice(0, at) + other + text.slice(at + 1);
    });
    return { lines, firstBad: seq };
  },
};
