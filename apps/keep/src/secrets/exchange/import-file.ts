import type { Actor } from "../../authorization/actor.ts";
import { allowsPath, assertPathAllowed } from "../../authorization/grant.ts";
import { assertPreconditions } from "../../preconditions.ts";
import type { ChangeDependencies, ChangeRequest } from "../../vaults/change-queue.ts";
import { asRehearsal, type VaultChange } from "../../vaults/open-changes.ts";
import { changeSecrets } from "../change-secret.ts";
import { mapConcurrently } from "../map-concurrently.ts";
import { findSecretMetadata, readValueById } from "../queries.ts";
import { decryptVersions } from "../read-value.ts";
import { joinPath, parseSecretPath, type SecretPath } from "../secret-path.ts";
import { assertValidValue } from "../value-content.ts";
import { assertReferencesAllowed, assertSecretQuota, writeSecretInChange } from "../write-secret.ts";
import { readDotenv } from "./dotenv.ts";
import { formatVersion } from "./expand-references.ts";
import type { FileFormat } from "./export-file.ts";
import { type FileEntry, invalidFile } from "./file-entries.ts";
import { readJsonFile } from "./json-file.ts";
import { readInTransaction } from "./queries.ts";

export type ImportRequest = {
  readonly format: FileFormat;
  readonly content: string;
  readonly folder: string;
  /** What to do with existing secrets: skip or overwrite them. */
  readonly mode: "create" | "overwrite";
  readonly isDryRun: boolean;
};

/** The paths of the file's secrets by outcome, without values. */
export type ImportOutcome = {
  readonly revision: number;
  readonly created: string[];
  readonly changed: string[];
  readonly unchanged: string[];
  readonly skipped: string[];
  readonly repeated: string[];
};

const maxEntries = 1000;

/**
 * Imports the whole file or nothing. A dry run does the same and rolls back, so that it fails and reports exactly as the
 * import would.
 */
export async function importFile(
  { preconditions, ...request }: ChangeRequest,
  file: ImportRequest,
  dependencies: ChangeDependencies,
): Promise<ImportOutcome> {
  const { actor } = request;
  const plan = createPlan(request, file);
  const rollback = new Error("Dry run: rolling back");
  let dryRun: ImportResult | undefined;
  try {
    const { result } = await changeSecrets(request, dependencies, async (change) => {
      assertPreconditions(preconditions, {
        revision: change.vault.revision - 1,
        isRequired: change.vault.demands_preconditions && !file.isDryRun,
      });
      const target = file.isDryRun ? asRehearsal(change) : change;
      const imported = await applyPlan(target, { plan, file, actor, dependencies });
      if (file.isDryRun) {
        dryRun = imported;
        throw rollback;
      }
      await recordImport(change, imported, file.folder);
      return imported.outcome;
    });
    return result;
  } catch (error) {
    if (error !== rollback || dryRun === undefined) throw error;
    await recordDryRun(request, { dryRun, folder: file.folder }, dependencies);
    return dryRun.outcome;
  }
}

type PlannedEntry = { readonly path: SecretPath; readonly entry: FileEntry };
type ImportPlan = { readonly planned: readonly PlannedEntry[]; readonly repeated: string[] };

/** Parses the file and checks everything that does not depend on the vault. */
function createPlan(
  { actor, vaultId }: Pick<ChangeRequest, "actor" | "vaultId">,
  { format, content, folder }: ImportRequest,
): ImportPlan {
  const { entries, repeated } = format === "dotenv" ? readDotenv(content) : readJsonFile(content);
  if (entries.length > maxEntries) {
    throw invalidFile([
      {
        field: "content",
        reason: `has ${entries.length} secrets, more than the limit of ${maxEntries}; split it`,
      },
    ]);
  }
  const pathOf = (segments: readonly string[]): string => joinPath(folder, segments.join("/"));
  const planned = new Map<string, PlannedEntry>();
  const sameName: string[] = [];
  for (const entry of entries) {
    const field = `content.${pathOf(entry.segments)}`.slice(0, 1024);
    const path = parseSecretPath(pathOf(entry.segments), field);
    assertPathAllowed(actor.grant, { scope: "secrets:write", vaultId }, path.path);
    assertReferencesAllowed(actor, vaultId, { value: entry.bytes, type: entry.type });
    assertValidValue(entry.bytes, entry.type, field);
    // Different in the file, but the same in Unicode's composed form.
    if (planned.has(path.path)) sameName.push(path.path);
    planned.set(path.path, { path, entry });
  }
  return { planned: [...planned.values()], repeated: [...repeated.map(pathOf), ...sameName] };
}

type ImportContext = {
  readonly plan: ImportPlan;
  readonly file: ImportRequest;
  readonly actor: Actor;
  readonly dependencies: ChangeDependencies;
};

type ImportResult = {
  readonly outcome: ImportOutcome;
  /**
   * Versions that were decrypted for the comparison. Reporting "unchanged" reveals a value, so each counts as a read.
   */
  readonly compared: readonly string[];
};

async function applyPlan(change: VaultChange, context: ImportContext): Promise<ImportResult> {
  // Decides for all entries before the first write: an integrity error is recorded on the audit chain, which a write
  // locks.
  const decided = await mapConcurrently(context.plan.planned, async (planned) => ({
    ...planned,
    ...(await decide(change, planned, context)),
  }));
  const pathsOf = (action: EntryDecision["action"]) =>
    decided.filter((decision) => decision.action === action).map(({ path }) => path.path);
  const created = pathsOf("created");
  // Checked for all of them up front, before anything is written.
  assertSecretQuota(change, { live: created.length, all: created.length });
  const toWrite = decided.filter(({ action }) => action === "created" || action === "changed");
  const written = await mapConcurrently(toWrite, ({ path, entry }) =>
    writeSecretInChange(change, { path, value: entry.bytes, type: entry.type, grant: context.actor.grant }),
  );
  return {
    outcome: {
      revision: Math.max(change.vault.revision, ...written.map(({ secret }) => secret.revision)),
      created,
      changed: pathsOf("changed"),
      unchanged: pathsOf("unchanged"),
      skipped: pathsOf("skipped"),
      repeated: context.plan.repeated,
    },
    compared: decided.flatMap(({ compared }) => compared ?? []),
  };
}

type EntryDecision = {
  readonly action: "created" | "changed" | "unchanged" | "skipped";
  readonly compared?: string;
};

/** Without the right to read it, every existing secret counts as changed, so that the report does not reveal equal values. */
async function decide(
  { transaction, vaultRef, head }: VaultChange,
  { path, entry }: PlannedEntry,
  { file, actor, dependencies }: ImportContext,
): Promise<EntryDecision> {
  const database = readInTransaction(transaction);
  const existing = await findSecretMetadata(database, vaultRef, path);
  if (existing === undefined) return { action: "created" };
  if (file.mode === "create") return { action: "skipped" };
  // A .env file has no types, so its text may equal the text of a json secret.
  const isSameType = existing.type === entry.type || (file.format === "dotenv" && existing.type === "json");
  const mayRead = allowsPath(actor.grant, { scope: "secrets:read", vaultId: vaultRef.vaultId }, path.path);
  if (!mayRead || !isSameType || existing.size !== entry.bytes.length) {
    return { action: "changed" };
  }
  const read = async () => {
    const row = await readValueById(database, vaultRef, { id: existing.id, version: null });
    return row === undefined ? [] : [row];
  };
  const [current] = await decryptVersions(vaultRef, read, {
    ...dependencies,
    database,
    // Includes what this import has changed so far.
    vaultHeads: { assertCurrent: async (_vaultRef, row) => head.assertCurrent(row) },
    by: actor,
  });
  if (current === undefined) return { action: "changed" };
  const action = current.value.equals(entry.bytes) ? "unchanged" : "changed";
  return { action, compared: formatVersion(current) };
}

async function recordImport(
  change: VaultChange,
  { outcome, compared }: ImportResult,
  folder: string,
): Promise<void> {
  if (compared.length > 0) {
    change.record({ type: "values-read", secrets: compared, path: folder });
  }
  const written = outcome.created.length + outcome.changed.length;
  change.record({ type: "values-imported", written, path: folder });
}

async function recordDryRun(
  { actor, vaultId }: Pick<ChangeRequest, "actor" | "vaultId">,
  { dryRun, folder }: { readonly dryRun: ImportResult; readonly folder: string },
  { audit }: ChangeDependencies,
): Promise<void> {
  if (dryRun.compared.length === 0) return;
  await audit.recordRead({
    accountId: actor.accountId,
    vaultId,
    by: actor,
    event: { type: "values-read", secrets: dryRun.compared, path: folder },
  });
}
