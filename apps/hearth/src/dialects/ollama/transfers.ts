import type { Answer } from "@hearth-and-keep/http-service";
import type { HearthCall, HearthParts } from "../../parts.ts";
import { answerProgress } from "./answer-progress.ts";
import { requireName } from "./asked-model.ts";
import type { TransferBody } from "./schema.ts";
import { type Status, writeTransferStep } from "./transfer-status.ts";

export async function answerPull(call: HearthCall<TransferBody>, parts: HearthParts): Promise<Answer> {
  return answerProgress(call, move(call, parts, "pull"));
}

export async function answerPush(call: HearthCall<TransferBody>, parts: HearthParts): Promise<Answer> {
  return answerProgress(call, move(call, parts, "push"));
}

async function* move(
  { body, signal, note }: HearthCall<TransferBody>,
  { transfers }: HearthParts,
  direction: "pull" | "push",
): AsyncGenerator<Status> {
  const name = requireName(body);
  note({ model: name });
  const wish = { name, isInsecure: body.insecure === true, signal };
  for await (const step of transfers[direction](wish)) yield writeTransferStep(step, direction);
  yield { status: "success" };
}
