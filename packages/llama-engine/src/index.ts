/**
 * @module
 * llama.cpp behind the engine port: the port's types, the driver that runs a model in a child process of its own,
 * its supervision and its sandbox. Templates and grammars come from model files and callers, so they are rendered
 * in the child, never in the server.
 * Imported by `scheduling/`, which loads engines, and `generation/`, which feeds them; by others for types only.
 */
export { createLlamaDriver, type LlamaDriverParts } from "./driver/llama-driver.ts";
export type {
  Conversation,
  Image,
  JsonObject,
  JsonValue,
  Message,
  Tool,
  ToolCall,
} from "./port/conversation.ts";
export type {
  Embeddings,
  EmbedRequest,
  Engine,
  EngineDescription,
  EngineDriver,
  EngineError,
  EngineFailure,
  GenerateRequest,
  LoadParts,
  LoadPlan,
  TemplateAbilities,
} from "./port/engine.ts";
export type {
  EndReason,
  EngineEvent,
  GenerationEnd,
  TextDelta,
  Timings,
  TokenProbability,
  Usage,
} from "./port/events.ts";
export type { OutputConstraint, Sampling } from "./port/sampling.ts";
export { missingProtections } from "./sandbox/missing-protections.ts";
