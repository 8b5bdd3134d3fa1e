/**
 * @module
 * Environments of a vault: folders at its top, which can inherit from a base, be compared, and have their values promoted
 * from one to the next. Guarantees that a comparison returns and stores nothing about a value but whether it is the same,
 * and that a promotion is one transaction with a record for each secret.
 * Imported by `routes.ts`; `exchange/` and writes use the rules of inheritance.
 */
import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { compareQuery, promotion } from "@hearth-and-keep/vault-contract";
import { readChange, readVaultRef } from "../../access/read-change.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import type { BodyRequest, QueryRequest } from "../../route-row.ts";
import { parseFolder } from "../secret-path.ts";
import { compareFolders } from "./compare-folders.ts";
import { promoteSecrets } from "./promote-secrets.ts";

export async function handleCompareFolders(
  request: QueryRequest<typeof compareQuery>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { left, right } = request.query;
  const { vaultId } = readVaultRef(request);
  const folders = { vaultId, left: parseFolder(left, "left"), right: parseFolder(right, "right") };
  return jsonResponse(await compareFolders(request.actor, folders, dependencies));
}

export async function handlePromoteSecrets(
  request: BodyRequest<typeof promotion>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { from, to, names, if_revision: revision, dry_run: isDryRun = false } = request.body;
  const folders = { from: parseFolder(from, "from"), to: parseFolder(to, "to") };
  const report = await promoteSecrets(
    readChange(request, dependencies),
    { ...folders, names, revision, isDryRun },
    dependencies,
  );
  return jsonResponse(report);
}
