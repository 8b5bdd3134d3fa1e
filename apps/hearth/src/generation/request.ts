import type { EngineRequest, Tool } from "@hearth-and-keep/engine";
import type { LoadInput } from "../scheduling/load-request.ts";
import type { ResolvedSampling, SamplingOptions } from "./sampling.ts";

/**
 * A request on its way to the engine, stage by stage:
 *
 *   a dialect's body --dialect--> GenerationRequest --runGeneration--> ResolvedRequest --generate--> EngineRequest
 *
 * `GenerationRequest` is a client's request without the format of its API. Sampling options may still be missing.
 */
export type GenerationRequest = LoadInput &
  Omit<ResolvedRequest, keyof ResolvedSampling> & {
    readonly sampling: SamplingOptions;
    /** How to handle a conversation that exceeds the context; `leave-room` drops until a quarter is left for output. */
    readonly overflow: "reject" | "drop-oldest" | "leave-room";
  };

/** An engine request plus everything that Hearth does itself: stop sequences and the tool choice. */
export type ResolvedRequest = EngineRequest &
  ResolvedSampling & {
    readonly toolChoice: ToolChoice;
    /**
     * The tools that can be called, if the conversation has changed them since its beginning. The tools of the
     * conversation are then still those at its beginning, so that the prompt keeps its cached prefix.
     */
    readonly callableTools?: readonly Tool[];
    readonly reasoningLimit?: ReasoningLimit;
  };

/** Ends the model's thinking, so that its response follows. */
export type ReasoningLimit = {
  readonly tokens: number;
  /** The client's field for it, which is named as ignored if the engine of the model cannot apply the limit. */
  readonly field: string;
};

/** `none` hides the tools from the model; `required` forces it to call one, `toolName` if given. */
export type ToolChoice = {
  readonly type: "auto" | "none" | "required";
  readonly toolName?: string;
  /** 1 disables parallel calls. */
  readonly maxCalls?: number;
};
