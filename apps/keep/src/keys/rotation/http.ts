import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import { begunOperation, operation } from "@hearth-and-keep/vault-contract";
import { readOnce } from "../../access/idempotency-key.ts";
import { readId, readPlace } from "../../access/read-change.ts";
import { reachesVault } from "../../authorization/grant.ts";
import type { KeepParts } from "../../dependencies.ts";
import { requestFailure } from "../../failures.ts";
import type { KeepCall, KeepRoute } from "../../route-row.ts";
import { findOperation } from "./queries.ts";
import { describeOperation, rotateDataKey } from "./rotate-data-key.ts";

const mayRotate = { access: "actor", scope: "keys:rotate" } as const;

// biome-ignore format: a table is read down its columns
export const rotationRoutes: readonly KeepRoute[] = [
  { method: "POST", path: "/api/secrets/vaults/:vault/rotate-key", ...mayRotate, summary: "Seal a vault with a new data key", answers: { 202: { json: begunOperation } }, handle: answerRotation },
  { method: "GET", path: "/api/secrets/operations/:operation", ...mayRotate, summary: "How far an operation came", answers: { 200: { json: operation } }, handle: answerOperation },
];

async function answerRotation(call: KeepCall, parts: KeepParts): Promise<Answer> {
  const { vaultId } = readPlace(call);
  const once = readOnce(call, parts.serverKeys);
  const begun = await rotateDataKey(call.actor, { vaultId, once }, parts);
  const answer = jsonAnswer({ operation: begun }, 202);
  return { ...answer, headers: { ...answer.headers, location: `/api/secrets/operations/${begun.id}` } };
}

async function answerOperation({ actor, parameters }: KeepCall, { database }: KeepParts): Promise<Answer> {
  const row = await findOperation(database, actor.accountId, readId(parameters["operation"]));
  if (row === undefined || !reachesVault(actor.grant, row.vault_id))
    throw requestFailure({ kind: "not-found" });
  return jsonAnswer(describeOperation(row));
}
