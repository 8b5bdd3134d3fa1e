import { type HttpResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { SecretValue, valueUse } from "@hearth-and-keep/vault-contract";
import { readId, readVaultRef } from "../../access/read-change.ts";
import type { KeepDependencies } from "../../dependencies.ts";
import type { BodyRequest } from "../../route-row.ts";
import { encodeValue } from "../value-content.ts";
import { useValue } from "./use-value.ts";

export async function handleUseValue(
  request: BodyRequest<typeof valueUse>,
  dependencies: KeepDependencies,
): Promise<HttpResponse> {
  const { vaultId } = readVaultRef(request);
  const secretId = readId(request.parameters["secret"]);
  const used = await useValue(request.actor, { vaultId, secretId, use: request.body }, dependencies);
  const { id, path, version, type, value } = used;
  const body: SecretValue = { id, path, version, type, ...encodeValue(value, type) };
  return jsonResponse(body);
}
