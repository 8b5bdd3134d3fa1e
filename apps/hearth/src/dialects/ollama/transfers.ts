import type { HttpResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../dependencies.ts";
import { requireName } from "./resolve-model.ts";
import type { TransferBody } from "./schema.ts";
import { type ProgressStatus, progressResponse, writeTransferStatus } from "./transfer-status.ts";
import { digestOfName, unloadOrphan } from "./unload-orphans.ts";

export async function handlePull(
  request: HearthRequest<TransferBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  return progressResponse(request, transfer(request, dependencies, "pull"));
}

export async function handlePush(
  request: HearthRequest<TransferBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  return progressResponse(request, transfer(request, dependencies, "push"));
}

async function* transfer(
  { body, signal, addLogFields }: HearthRequest<TransferBody>,
  dependencies: HearthDependencies,
  direction: "pull" | "push",
): AsyncGenerator<ProgressStatus> {
  const name = requireName(body);
  addLogFields({ model: name });
  const options = { name, isInsecure: body.insecure === true, signal };
  const previousDigest = direction === "pull" ? await digestOfName(name, dependencies) : undefined;
  for await (const step of dependencies.transfers[direction](options))
    yield writeTransferStatus(step, direction);
  await unloadOrphan(previousDigest, dependencies);
  yield { status: "success" };
}
