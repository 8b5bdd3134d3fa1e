import type { Conversation } from "@hearth-and-keep/engine";
import { requestFailure } from "../../../failures.ts";
import { isHarmony } from "../../../generation/harmony.ts";
import type { ModelDescription } from "../../../models/metadata/describe-model.ts";

const levels = ["low", "medium", "high", "max"];

export type Thinking = Pick<Conversation, "thinking" | "templateVariables">;

/** A model that can think does so unless it is told not to; one that cannot is not asked to. */
export function readThinking(
  think: boolean | string | null | undefined,
  model: ModelDescription,
  requestedName: string,
): Thinking {
  refuseUnknownLevel(think);
  const canThink = model.capabilities.includes("thinking");
  const isWanted = think !== undefined && think !== null && think !== false && think !== "";
  if (isWanted && !canThink) {
    throw requestFailure({ kind: "capability-lacking", model: requestedName, capability: "thinking" });
  }
  if (!canThink) return {};
  if (typeof think !== "string" || think === "") return { thinking: think !== false };
  return { thinking: true, templateVariables: { reasoning_effort: effortFor(think, model) } };
}

function refuseUnknownLevel(think: unknown): void {
  if (typeof think !== "string" || think === "" || levels.includes(think)) return;
  const choices = `must be ${levels.map((level) => `"${level}"`).join(", ")}, true, or false`;
  throw requestFailure({
    kind: "request-invalid",
    place: "",
    reason: `invalid think value: ${JSON.stringify(think)} (${choices})`,
  });
}

/** Templates of gpt-oss know three levels. */
function effortFor(level: string, { chatTemplate }: ModelDescription): string {
  return level === "max" && chatTemplate !== null && isHarmony(chatTemplate) ? "high" : level;
}
