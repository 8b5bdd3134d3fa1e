/**
 * @module
 * The engine port: the interface between Hearth and anything that runs a model. Requests carry conversations, and
 * engines send back events. Nothing here assumes a local process or llama.cpp; `describe` reports what a driver does
 * itself. Every driver emits events in order, honours the signal between steps and throws EngineFailure.
 * Imported by the drivers, by `scheduling/`, which loads engines, and by `generation/`, which calls them.
 */
export type {
  AudioClip,
  Conversation,
  Image,
  JsonObject,
  JsonValue,
  MediaSupport,
  Medium,
  Message,
  Tool,
  ToolCall,
} from "./conversation.ts";
export { findUnsupportedMedia, isJsonObject } from "./conversation.ts";
export type {
  Embeddings,
  EmbedRequest,
  Engine,
  EngineDescription,
  EngineDriver,
  EngineFailure,
  EngineRequest,
  LoadOptions,
  LoadPlan,
  MeasuredMemory,
  TemplateCapabilities,
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
