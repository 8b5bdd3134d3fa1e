import { type Answer, jsonAnswer } from "@hearth-and-keep/http-service";
import type { HearthCall } from "../../dependencies.ts";
import { answerStream } from "./streaming.ts";
import type { Status } from "./transfer-status.ts";

/** Every object as it comes unless `stream` is false: then the last alone, and a failure has its own status. */
export async function answerProgress(
  call: HearthCall<{ readonly stream?: boolean | null }>,
  statuses: AsyncIterable<Status>,
): Promise<Answer> {
  if (call.body.stream !== false) return answerStream(call, statuses, {});
  let last: Status = { status: "success" };
  for await (const status of statuses) last = status;
  return jsonAnswer(last);
}
