import type { Actor } from "../../authorization/actor.ts";
import { refuseUnlessMet } from "../../conditions.ts";
import type { AskedChange, ChangeParts, VaultChange } from "../../vaults/change-vault.ts";
import { changeSecrets } from "../change-secret.ts";
import { refuseUnlessReached } from "../path-access.ts";
import { findListed, readValueById } from "../queries.ts";
import { openVersions } from "../read-value.ts";
import { joinPath, parseSecretPath, type SecretPath } from "../secret-path.ts";
import { refuseUnfit } from "../value-content.ts";
import { refuseOneTooMany, writeInto } from "../write-secret.ts";
import { readDotenv } from "./dotenv.ts";
import { nameVersion } from "./expand-references.ts";
import type { FileFormat } from "./export-file.ts";
import { type FileEntry, refuseFile } from "./file-entries.ts";
import { readJsonFile } from "./json-file.ts";
import { readWithin } from "./queries.ts";

export type WantedImport = {
  readonly format: FileFormat;
  readonly content: string;
  readonly folder: string;
  /** What becomes of what is there already. */
  readonly mode: "create" | "overwrite";
  readonly isDryRun: boolean;
};

/** Paths of what the file says; no value is in it. */
export type ImportOutcome = {
  readonly revision: number;
  readonly created: string[];
  readonly changed: string[];
  readonly unchanged: string[];
  readonly skipped: string[];
  readonly repeated: string[];
};

const mostEntries = 1000;

/**
 * All of the file or nothing of it. A dry run does the same and takes it back, so that whatever would be refused is
 * refused, and what is told is what would be done.
 */
export async function importFile(
  { conditions, ...asked }: AskedChange,
  wanted: WantedImport,
  parts: ChangeParts,
): Promise<ImportOutcome> {
  const { actor } = asked;
  const plan = readPlan(actor, wanted);
  const takeBack = new Error("A dry run ends here");
  let shown: Imported | undefined;
  try {
    const { result } = await changeSecrets(asked, parts, async (change) => {
      refuseUnlessMet(conditions, {
        revision: change.vault.revision - 1,
        isDemanded: change.vault.demands_preconditions && !wanted.isDryRun,
      });
      const imported = await importInto(change, { plan, wanted, actor, parts });
      if (wanted.isDryRun) {
        shown = imported;
        throw takeBack;
      }
      await record(change, imported, wanted.folder);
      return imported.outcome;
    });
    return result;
  } catch (problem) {
    if (problem !== takeBack || shown === undefined) throw problem;
    await recordShown(asked, { shown, folder: wanted.folder }, parts);
    return shown.outcome;
  }
}

type Planned = { readonly path: SecretPath; readonly entry: FileEntry };
type Plan = { readonly planned: readonly Planned[]; readonly repeated: string[] };

/** Everything that can be refused without a look at the vault. */
function readPlan({ grant }: Actor, { format, content, folder }: WantedImport): Plan {
  const { entries, repeated } = format === "dotenv" ? readDotenv(content) : readJsonFile(content);
  if (entries.length > mostEntries) {
    throw refuseFile([
      { place: "content", reason: `has ${entries.length} secrets, more than ${mostEntries}; split it` },
    ]);
  }
  const pathOf = (segments: readonly string[]): string => joinPath(folder, segments.join("/"));
  const planned = entries.map((entry) => {
    const place = `content.${pathOf(entry.segments)}`.slice(0, 1024);
    const path = parseSecretPath(pathOf(entry.segments), place);
    refuseUnlessReached(grant, path.path);
    refuseUnfit(entry.bytes, entry.type, place);
    return { path, entry };
  });
  return { planned, repeated: repeated.map(pathOf) };
}

type Importing = {
  readonly plan: Plan;
  readonly wanted: WantedImport;
  readonly actor: Actor;
  readonly parts: ChangeParts;
};

type Imported = {
  readonly outcome: ImportOutcome;
  /** Versions that were opened to see whether they are the same: whoever is told so has read them. */
  readonly compared: readonly string[];
};

async function importInto(change: VaultChange, importing: Importing): Promise<Imported> {
  // All of them before the first is written: a broken one is reported on the chain that a write locks.
  const decided = await forEachOf(importing.plan.planned, async (planned) => ({
    ...planned,
    ...(await decide(change, planned, importing)),
  }));
  const pathsOf = (fate: Decision["fate"]) =>
    decided.filter((decision) => decision.fate === fate).map(({ path }) => path.path);
  const created = pathsOf("created");
  // Those that are written at the same time do not see each other.
  await refuseOneTooMany(change, created.length);
  const toWrite = decided.filter(({ fate }) => fate === "created" || fate === "changed");
  const written = await forEachOf(toWrite, ({ path, entry }) =>
    writeInto(change, { path, value: entry.bytes, type: entry.type }),
  );
  return {
    outcome: {
      revision: Math.max(change.vault.revision, ...written.map(({ secret }) => secret.revision)),
      created,
      changed: pathsOf("changed"),
      unchanged: pathsOf("unchanged"),
      skipped: pathsOf("skipped"),
      repeated: importing.plan.repeated,
    },
    compared: decided.flatMap(({ compared }) => compared ?? []),
  };
}

const mostAtOnce = 32;

/**
 * Several at once, so that their statements travel together. Waits for all of them before it throws: none may go on
 * when the transaction is over.
 */
async function forEachOf<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const problems: unknown[] = [];
  for (let begin = 0; begin < items.length && problems.length === 0; begin += mostAtOnce) {
    const chunk = items.slice(begin, begin + mostAtOnce);
    await Promise.allSettled(
      chunk
        .map(async (item, index) => {
          results[begin + index] = await work(item);
        })
        .map((done) => done.catch((problem: unknown) => problems.push(problem))),
    );
  }
  // The first in time is why: once the database has refused one statement, it refuses those after it.
  if (problems.length > 0) throw problems[0];
  return results;
}

type Decision = {
  readonly fate: "created" | "changed" | "unchanged" | "skipped";
  readonly compared?: string;
};

/** Who may not read is not told whether a value is the same either: for them it is always another. */
async function decide(
  { transaction, place }: VaultChange,
  { path, entry }: Planned,
  { wanted, actor, parts }: Importing,
): Promise<Decision> {
  const database = readWithin(transaction);
  const there = await findListed(database, place, path);
  if (there === undefined) return { fate: "created" };
  if (wanted.mode === "create") return { fate: "skipped" };
  // A .env file knows no types: text that a secret of type json has is what it has.
  const isSameType = there.type === entry.type || (wanted.format === "dotenv" && there.type === "json");
  if (!actor.grant.scopes.has("secrets:read") || !isSameType || there.size !== entry.bytes.length) {
    return { fate: "changed" };
  }
  const row = await readValueById(database, place, { id: there.id, version: null });
  const [opened] = await openVersions(place, row === undefined ? [] : [row], {
    ...parts,
    database,
    by: actor,
  });
  if (opened === undefined) return { fate: "changed" };
  const fate = opened.value.equals(entry.bytes) ? "unchanged" : "changed";
  return { fate, compared: nameVersion(opened) };
}

async function record(change: VaultChange, { outcome, compared }: Imported, folder: string): Promise<void> {
  if (compared.length > 0) {
    await change.record({ type: "values-read", secrets: compared, path: folder });
  }
  const written = outcome.created.length + outcome.changed.length;
  await change.record({ type: "values-imported", written, path: folder });
}

async function recordShown(
  { actor, vaultId }: Pick<AskedChange, "actor" | "vaultId">,
  { shown, folder }: { readonly shown: Imported; readonly folder: string },
  { audit }: ChangeParts,
): Promise<void> {
  if (shown.compared.length === 0) return;
  await audit.recordRead(actor.accountId, {
    chain: vaultId,
    by: actor,
    event: { type: "values-read", secrets: shown.compared, path: folder },
  });
}
