import type { BatchOutcome, SecretMetadata } from "@hearth-and-keep/vault-contract";
import { ApiError, request, toApiError } from "../../vault-api/api-client.ts";
import type { Proposal } from "../approvals/proposal.ts";
import { formatQuery, secretPath, vaultPath } from "./api-paths.ts";
import { attemptEach, type PathFailure } from "./attempt-each.ts";
import type { ListEntry } from "./list-row.tsx";
import { readVaultRevision } from "./save-secret.ts";
import { joinPath } from "./secrets-location.ts";
import {
  createFolder,
  emptyFolders,
  type FolderContents,
  maxRestored,
  readFolderContents,
} from "./use-undo-delete.ts";

/** What is changed at once, all or nothing. */
export type BulkTarget = FolderContents & {
  /** Selected themselves; `folders` also has those in them. */
  readonly roots: readonly string[];
};

type Operation = NonNullable<Proposal["operations"]>[number];

/** The selected secrets and those in the selected folders. */
export async function readTarget(vaultId: string, entries: readonly ListEntry[]): Promise<BulkTarget> {
  const roots = entries.flatMap((entry) => (entry.kind === "folder" ? [entry.path] : []));
  const contents = await Promise.all(roots.map((path) => readFolderContents(vaultId, path)));
  const found = contents.flatMap((each) => each ?? []);
  const secrets = [...selectedSecrets(entries), ...found.flatMap((each) => each.secrets)];
  if (contents.includes(undefined) || secrets.length > maxRestored) {
    const title = `At most ${maxRestored} secrets can be changed at once, those in folders included. Select fewer`;
    throw new ApiError(0, { title, code: "conflict" });
  }
  return { roots, secrets, folders: found.flatMap((each) => each.folders) };
}

export function selectedSecrets(entries: readonly ListEntry[]): readonly SecretMetadata[] {
  return entries.flatMap((entry) => (entry.kind === "secret" ? [entry.secret] : []));
}

export function deletionsOf({ secrets }: BulkTarget): Operation[] {
  return secrets.map(({ path, revision }) => ({ op: "delete", path, if_revision: revision }));
}

/** Secrets that are in the folder already stay where they are. */
export function movesOf(target: BulkTarget, to: string): Operation[] {
  return target.secrets
    .map(({ path, revision }) => ({ path, to: movedPath(target, path, to), revision }))
    .filter((move) => move.to !== move.path)
    .map(({ revision, ...move }) => ({ op: "move", ...move, if_revision: revision }));
}

/** A selected folder keeps its name and what is in it. */
function movedPath({ roots }: Pick<BulkTarget, "roots">, path: string, to: string): string {
  const root = roots.find((folder) => path === folder || path.startsWith(`${folder}/`)) ?? path;
  return joinPath(to, path.slice(root.lastIndexOf("/") + 1));
}

/** Resolves to the folders that remain, although the secrets are deleted. */
export async function deleteAll(vaultId: string, target: BulkTarget): Promise<readonly PathFailure[]> {
  const revision = await runBatch(vaultId, deletionsOf(target));
  return deleteFolders(vaultId, target.roots, revision);
}

/** Resolves to the folders that were not moved, although the secrets are. */
export async function moveAll(
  vaultId: string,
  target: BulkTarget,
  to: string,
): Promise<readonly PathFailure[]> {
  const isInside = target.roots.some((root) => to === root || to.startsWith(`${root}/`));
  if (isInside) throw new ApiError(0, { title: "A folder cannot be moved into itself", code: "conflict" });
  const roots = target.roots.filter((root) => movedPath(target, root, to) !== root);
  const operations = movesOf(target, to);
  if (operations.length === 0 && roots.length === 0)
    throw new ApiError(0, { title: `All of them are in ${to} already`, code: "conflict" });
  const revision = await runBatch(vaultId, operations);
  const failures = await deleteFolders(vaultId, roots, revision);
  const empty = emptyFolders(target).map((folder) => ({ path: movedPath(target, folder, to) }));
  return [...failures, ...(await attemptEach(empty, ({ path }) => createFolder(vaultId, path)))];
}

/** Resolves to the vault's revision afterwards. */
async function runBatch(vaultId: string, operations: readonly Operation[]): Promise<number> {
  if (operations.length === 0) return readVaultRevision(vaultId);
  try {
    const options = { method: "POST", body: { operations } } as const;
    return (await request<BatchOutcome>(`${vaultPath(vaultId)}/batch`, options)).body.revision;
  } catch (error) {
    throw nameSecret(toApiError(error), operations);
  }
}

/** The server names the operation of a failed precondition; the person knows its secret. */
function nameSecret(error: ApiError, operations: readonly Operation[]): ApiError {
  const [failed] = error.errors;
  const index = /^operations\.(?<index>\d+)/u.exec(failed?.place ?? "")?.groups?.["index"];
  const path = operations[Number(index)]?.path;
  if (failed === undefined || path === undefined) return error;
  const title = `Nothing was changed. ${path}: ${failed.reason}. Close the dialog, check the list and try again`;
  return new ApiError(error.status, { title, code: "conflict" });
}

/** The secrets of these folders are gone. The precondition keeps what somebody has written there since. */
async function deleteFolders(
  vaultId: string,
  folders: readonly string[],
  revision: number,
): Promise<readonly PathFailure[]> {
  const failures: PathFailure[] = [];
  let latest = revision;
  for (const path of folders) {
    const url = `${vaultPath(vaultId)}/folders${formatQuery({ path, recursive: "true" })}`;
    try {
      const { body } = await request<FolderOutcome>(url, { method: "DELETE", revision: latest });
      latest = body.revision;
    } catch (error) {
      failures.push({ path, reason: toApiError(error).message });
    }
  }
  return failures;
}

type FolderOutcome = { readonly revision: number };

/** Sends only the secrets whose tags change. */
export function changeTags(
  vaultId: string,
  secrets: readonly SecretMetadata[],
  change: (tags: readonly string[]) => readonly string[],
): Promise<readonly PathFailure[]> {
  const changed = secrets.filter(({ tags }) => change(tags).join("\n") !== tags.join("\n"));
  return attemptEach(changed, ({ id, tags, revision }) =>
    request(secretPath(vaultId, id), { method: "PATCH", body: { tags: change(tags) }, revision }),
  );
}
