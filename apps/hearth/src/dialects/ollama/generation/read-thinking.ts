import type { Conversation } from "@hearth-and-keep/engine";
import { invalidField, requestFailure } from "../../../failures.ts";
import { isHarmony } from "../../../generation/harmony.ts";
import type { ModelDescription } from "../../../models/metadata/describe-model.ts";

const levels = ["low", "medium", "high", "max"];

export type Thinking = Pick<Conversation, "thinking" | "templateVariables">;

/** Thinking is on by default for models that support it, and an error for those that do not. */
export function readThinking(
  think: boolean | string | null | undefined,
  model: ModelDescription,
  requestedName: string,
): Thinking {
  rejectUnknownLevel(think);
  const canThink = model.capabilities.includes("thinking");
  const isRequested = think !== undefined && think !== null && think !== false && think !== "";
  if (isRequested && !canThink) {
    throw requestFailure({ kind: "capability-missing", model: requestedName, capability: "thinking" });
  }
  if (!canThink) return {};
  if (typeof think !== "string" || think === "") return { thinking: think !== false };
  return { thinking: true, templateVariables: { reasoning_effort: effortFor(think, model) } };
}

function rejectUnknownLevel(think: unknown): void {
  if (typeof think !== "string" || think === "" || levels.includes(think)) return;
  const choices = `must be ${levels.map((level) => `"${level}"`).join(", ")}, true, or false`;
  throw invalidField("", `invalid think value: ${JSON.stringify(think)} (${choices})`);
}

/** The gpt-oss template has no level above "high". */
function effortFor(level: string, { chatTemplate }: ModelDescription): string {
  return level === "max" && chatTemplate !== null && isHarmony(chatTemplate) ? "high" : level;
}
