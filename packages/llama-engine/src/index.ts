/**
 * @module
 * llama.cpp behind the engine port: the port's types, the driver that runs a model in a child process of its own,
 * its supervision and its sandbox. Templates and grammars come from model files and callers, so they are rendered
 * in the child, never in the server.
 * Imported by `scheduling/`, which loads engines, and `generation/`, which feeds them; by others for types only.
 */
export { CrashBreaker } from "./driver/crash-breaker.ts";
export { createLlamaDriver, type LlamaDriverParts } from "./driver/llama-driver.ts";
export { filesOf, limitOfPlan } from "./driver/memory-of-plan.ts";
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
export { fitText } from "./preparing/fit-text.ts";
export { plainMetadata } from "./preparing/plain-metadata.ts";
export { PreparingThread } from "./preparing/preparing-thread.ts";
export { templateTextsOf } from "./preparing/template-texts.ts";
export { lookAtMachine, type Machine, nobody } from "./sandbox/machine.ts";
export { type MemoryCgroup, openMemoryCgroup, removeStaleCgroups } from "./sandbox/memory-cgroup.ts";
export { missingProtections } from "./sandbox/missing-protections.ts";
export { type LaunchWish, planLaunch, runsAsOtherUser } from "./sandbox/plan-launch.ts";
export { failureOf, whenEnded } from "./sandbox/process-end.ts";
export type { SpecialTokens } from "./templates/render-chat-template.ts";
export { FreeCores } from "./worker/free-cores.ts";
export { type Place, PlacePool } from "./worker/place-pool.ts";
