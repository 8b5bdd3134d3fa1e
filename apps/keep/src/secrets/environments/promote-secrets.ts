import type { PromotionReport } from "@hearth-and-keep/vault-contract";
import { assertFolderAllowed, assertPathAllowed, assertScopeAllowed } from "../../authorization/grant.ts";
import { requestFailure } from "../../failures.ts";
import { assertPreconditions } from "../../preconditions.ts";
import type { ChangeDependencies, ChangeRequest } from "../../vaults/change-queue.ts";
import { asRehearsal, type VaultChange } from "../../vaults/open-changes.ts";
import { changeSecrets, loadSecrets } from "../change-secret.ts";
import { formatVersion } from "../exchange/expand-references.ts";
import { findFolder } from "../folders/queries.ts";
import { mapConcurrently } from "../map-concurrently.ts";
import type { SecretForUpdate } from "../queries.ts";
import { isInFolder, joinPath, parseSecretPath, type SecretPath } from "../secret-path.ts";
import { decryptCurrent } from "../versions/decrypt-version.ts";
import { assertReferencesAllowed, assertSecretQuota, writeSecretInChange } from "../write-secret.ts";

export type Promotion = {
  readonly from: string;
  readonly to: string;
  /** Paths within `from`; undefined promotes everything in it. */
  readonly names: readonly string[] | undefined;
  /** The vault's revision that the promotion was decided on. */
  readonly revision: number | undefined;
  readonly isDryRun: boolean;
};

/** Secrets with this tag belong to their environment: they are neither promoted nor overwritten. */
const localTag = "local";
const maxItems = 1000;
const maxBytes = 8 * 1024 * 1024;

/**
 * Copies the values of a folder with its subfolders to another one, all or none, with references as they were written. A
 * dry run does the same and rolls back, so that it fails and reports exactly as the promotion would.
 */
export async function promoteSecrets(
  { preconditions, ...request }: ChangeRequest,
  promotion: Promotion,
  dependencies: ChangeDependencies,
): Promise<PromotionReport> {
  assertAllowed(request, promotion);
  const { isDryRun, revision } = promotion;
  const rollback = new Error("Dry run: rolling back");
  let dryRun: Promoted | undefined;
  try {
    const { result } = await changeSecrets(request, dependencies, async (change) => {
      const target = { revision: change.vault.revision - 1 };
      if (revision !== undefined)
        assertPreconditions({ match: new Set([String(revision)]) }, { ...target, isRequired: true });
      const isRequired = change.vault.demands_preconditions && !isDryRun && revision === undefined;
      assertPreconditions(preconditions, { ...target, isRequired });
      const promoted = await promoteInChange(isDryRun ? asRehearsal(change) : change, { request, promotion });
      if (isDryRun) {
        dryRun = promoted;
        throw rollback;
      }
      recordPromotion(change, promotion, promoted);
      return promoted.report;
    });
    return result;
  } catch (error) {
    if (error !== rollback || dryRun === undefined) throw error;
    const { accountId } = request.actor;
    const event = { type: "values-read", secrets: dryRun.compared, path: promotion.from } as const;
    if (dryRun.compared.length > 0)
      await dependencies.audit.recordRead({ accountId, vaultId: request.vaultId, by: request.actor, event });
    return dryRun.report;
  }
}

/** Whoever promotes learns which values of the target are the same, so both folders must be readable. */
function assertAllowed(
  { actor: { grant }, vaultId }: Pick<ChangeRequest, "actor" | "vaultId">,
  { from, to, names }: Promotion,
): void {
  const read = { scope: "secrets:read", vaultId } as const;
  const write = { scope: "secrets:write", vaultId } as const;
  assertScopeAllowed(grant, read);
  if (isInFolder(from, to) || isInFolder(to, from)) {
    throw requestFailure({ kind: "conflict", reason: "A folder cannot be promoted into itself" });
  }
  const needed = [
    { reach: read, folder: from },
    { reach: read, folder: to },
    { reach: write, folder: to },
  ];
  for (const { reach, folder } of needed) {
    if (names === undefined) assertFolderAllowed(grant, reach, folder);
    for (const [index, name] of (names ?? []).entries())
      assertPathAllowed(grant, reach, parseName(folder, name, index).path);
  }
}

function parseName(folder: string, name: string, index: number): SecretPath {
  return parseSecretPath(joinPath(folder, name), `names.${index}`);
}

type Promoted = {
  readonly report: PromotionReport;
  /** Versions that were decrypted for the comparison, each of which counts as a read. */
  readonly compared: readonly string[];
};

type PromotionContext = {
  readonly request: Pick<ChangeRequest, "actor" | "vaultId">;
  readonly promotion: Promotion;
};

async function promoteInChange(change: VaultChange, context: PromotionContext): Promise<Promoted> {
  const { from, to, isDryRun } = context.promotion;
  const sources = selectSources(await loadSecrets(change, { within: from }), context.promotion);
  if (sources.length === 0) await assertFolderExists(change, from);
  const targets = new Map((await loadSecrets(change, { within: to })).map((row) => [pathOf(row), row]));
  const moves = sources.map((source) => {
    const path = parseSecretPath(to + pathOf(source).slice(from.length), "to");
    return { source, path, target: targets.get(path.path) };
  });
  const [local, promoted] = partition(moves, isLocal);
  assertSize(promoted.map(({ source }) => source));
  // Decides about all of them before the first write: an integrity error is recorded on the audit chain, which a write
  // locks.
  const decided = await mapConcurrently(promoted, async (move) => ({
    ...move,
    ...(await decide(change, move)),
  }));
  const [toWrite, unchanged] = partition(decided, ({ isSame }) => !isSame);
  const [changed, created] = partition(toWrite, ({ target }) => target !== undefined);
  const { actor, vaultId } = context.request;
  for (const { value, source } of toWrite)
    assertReferencesAllowed(actor, vaultId, { value, type: source.type });
  assertSecretQuota(change, { live: created.length, all: created.length });
  await mapConcurrently(toWrite, ({ path, value, source: { type, tags }, target }) =>
    writeSecretInChange(change, {
      path,
      value,
      type,
      grant: actor.grant,
      ...(target === undefined ? { tags } : {}),
    }),
  );
  for (const { value } of decided) value.fill(0);
  return {
    report: {
      dry_run: isDryRun,
      revision: isDryRun ? change.vault.revision - 1 : change.latestRevision(),
      created: created.map(({ path }) => path.path),
      changed: changed.map(({ path }) => path.path),
      unchanged: unchanged.map(({ path }) => path.path),
      local: local.map(({ source }) => pathOf(source)),
    },
    compared: decided.flatMap(({ compared }) => compared),
  };
}

/** A folder whose name was mistyped would otherwise be promoted as an empty one. Environments exist without secrets. */
async function assertFolderExists(
  { transaction, vaultRef, vault }: VaultChange,
  folder: string,
): Promise<void> {
  const isNamed = vault.base_folder === folder || vault.environments.includes(folder.slice(1));
  if (isNamed || (await findFolder(transaction, vaultRef, folder)) !== undefined) return;
  const reason = `names a folder that does not exist: ${folder}`;
  throw requestFailure({ kind: "request-invalid", errors: [{ field: "from", reason }] });
}

type PromotedSecret = {
  readonly source: SecretForUpdate;
  readonly path: SecretPath;
  readonly target: SecretForUpdate | undefined;
};

/** In order of their paths. */
function selectSources(
  found: readonly SecretForUpdate[],
  { from, names }: Pick<Promotion, "from" | "names">,
): readonly SecretForUpdate[] {
  const sorted = found.toSorted((left, right) => (pathOf(left) < pathOf(right) ? -1 : 1));
  if (names === undefined) return sorted;
  const byPath = new Map(sorted.map((row) => [pathOf(row), row]));
  const wanted = new Set(names.map((name, index) => parseName(from, name, index).path));
  const missing = [...wanted].flatMap((path) =>
    byPath.has(path) ? [] : [{ field: "names", reason: `contains a secret that does not exist: ${path}` }],
  );
  if (missing.length > 0) throw requestFailure({ kind: "request-invalid", errors: missing });
  return sorted.filter((row) => wanted.has(pathOf(row)));
}

function isLocal({ source, target }: PromotedSecret): boolean {
  return source.tags.includes(localTag) || target?.tags.includes(localTag) === true;
}

function assertSize(sources: readonly SecretForUpdate[]): void {
  const bytes = sources.reduce((sum, { size }) => sum + size, 0);
  if (sources.length <= maxItems && bytes <= maxBytes) return;
  const limit = sources.length > maxItems ? `${maxItems} secrets` : `${maxBytes} bytes of values`;
  const reason = `selects more than ${limit}; promote subfolders or names one after the other`;
  throw requestFailure({ kind: "request-invalid", errors: [{ field: "from", reason }] });
}

type Decision = { readonly value: Buffer; readonly isSame: boolean; readonly compared: readonly string[] };

async function decide(change: VaultChange, { source, target }: PromotedSecret): Promise<Decision> {
  const value = await decryptCurrent(change, source);
  if (target === undefined || target.type !== source.type || target.size !== source.size) {
    return { value, isSame: false, compared: [] };
  }
  const current = await decryptCurrent(change, target);
  const isSame = current.equals(value);
  current.fill(0);
  const compared = [source, target].map(({ id, current_version: version }) => formatVersion({ id, version }));
  return { value, isSame, compared };
}

/** Besides the record of each written secret. */
function recordPromotion(change: VaultChange, { from, to }: Promotion, { report, compared }: Promoted): void {
  if (compared.length > 0) change.record({ type: "values-read", secrets: compared, path: from });
  const written = report.created.length + report.changed.length;
  change.record({ type: "values-promoted", written, path: from, to });
}

function pathOf({ folder, name }: Pick<SecretForUpdate, "folder" | "name">): string {
  return joinPath(folder, name);
}

/** Those for which the condition is true, then the others. */
function partition<Item>(
  items: readonly Item[],
  condition: (item: Item) => boolean,
): readonly [readonly Item[], readonly Item[]] {
  return [items.filter(condition), items.filter((item) => !condition(item))];
}
