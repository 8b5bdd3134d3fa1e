import type { HttpResponse } from "@hearth-and-keep/http-service";
import type { vaultTransfer } from "@hearth-and-keep/vault-contract";
import { readVaultRef } from "../../access/read-change.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import { readPreconditions } from "../../preconditions.ts";
import type { BodyRequest } from "../../route-row.ts";
import { vaultResponse } from "../http.ts";
import { transferVault } from "./transfer-vault.ts";

export async function handleTransferVault(
  request: BodyRequest<typeof vaultTransfer>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { vaultId } = readVaultRef(request);
  const preconditions = readPreconditions(request.headers);
  const { actor, body } = request;
  return vaultResponse(await transferVault({ actor, vaultId, preconditions }, body.to, dependencies));
}
