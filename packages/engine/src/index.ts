/**
 * @module
 * The engine port: what Hearth requires of anything that runs a model, at the level of a conversation, and the events
 * an engine sends back. Nothing here assumes a local process or llama.cpp; `describe` says what a driver does itself.
 * Every driver guarantees ordered events, a signal honoured between steps, and failures as EngineFailure.
 * Imported by the drivers, by `scheduling/`, which loads engines, and by `generation/`, which calls them.
 */
export type { Conversation, Image, JsonObject, JsonValue, Message, Tool, ToolCall } from "./conversation.ts";
export type {
  Embeddings,
  EmbedRequest,
  Engine,
  EngineDescription,
  EngineDriver,
  EngineFailure,
  GenerateRequest,
  LoadParts,
  LoadPlan,
  TemplateAbilities,
} from "./engine.ts";
export type {
  EndReason,
  EngineEvent,
  GenerationEnd,
  TextDelta,
  Timings,
  TokenProbability,
  Usage,
} from "./events.ts";
export type { OutputConstraint, Sampling } from "./sampling.ts";
