import type { Answer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../dependencies.ts";
import { answerProgress } from "./answer-progress.ts";
import { requireName } from "./resolve-model.ts";
import type { TransferBody } from "./schema.ts";
import { type Status, writeTransferStep } from "./transfer-status.ts";
import { digestNamed, unloadUnnamed } from "./unload-orphans.ts";

export async function answerPull(call: HearthCall<TransferBody>, parts: HearthParts): Promise<Answer> {
  return answerProgress(call, move(call, parts, "pull"));
}

export async function answerPush(call: HearthCall<TransferBody>, parts: HearthParts): Promise<Answer> {
  return answerProgress(call, move(call, parts, "push"));
}

async function* move(
  { body, signal, note }: HearthCall<TransferBody>,
  parts: HearthParts,
  direction: "pull" | "push",
): AsyncGenerator<Status> {
  const name = requireName(body);
  note({ model: name });
  const wish = { name, isInsecure: body.insecure === true, signal };
  const before = direction === "pull" ? await digestNamed(name, parts) : undefined;
  for await (const step of parts.transfers[direction](wish)) yield writeTransferStep(step, direction);
  await unloadUnnamed(before, parts);
  yield { status: "success" };
}
