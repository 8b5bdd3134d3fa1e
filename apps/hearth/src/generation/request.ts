import type { GenerateRequest, OutputConstraint } from "@hearth-and-keep/engine";
import type { SettledSampling } from "./sampling.ts";

/** What a dialect asks of the engine, in words of no protocol. */
export type GenerationRequest = SettledSampling & {
  readonly input: GenerateRequest["input"];
  readonly toolChoice: ToolChoice;
  readonly constraint?: OutputConstraint;
  readonly logProbabilities?: number;
  readonly cachePartition: string;
};

/** `none` hides the tools from the model; `required` lets it write nothing but calls, of one tool when it is named. */
export type ToolChoice = {
  readonly type: "auto" | "none" | "required";
  readonly toolName?: string;
  /** One forbids parallel calls. */
  readonly mostCalls?: number;
};
