/**
 * @module
 * The engine port over HTTP: llama.cpp's own server, started and watched by us, and pools of engines elsewhere.
 * Promises what every driver promises; what an engine over HTTP cannot be trusted with is told beside the code.
 * Imported by `scheduling/`, which loads engines, and by `main`, which chooses them.
 */
export {
  createLlamaServerDriver,
  type LlamaServerDriverOptions,
} from "./llama-server/llama-server-driver.ts";
export type { LlamaServerProgram } from "./llama-server/program.ts";
export { type Candidate, type Choose } from "./pool/choose-member.ts";
export { EnginePool, type MemberSnapshot } from "./pool/engine-pool.ts";
export { createEnginePool, createPoolDriver, type NamedPool, type PoolPlan } from "./pool/pool-driver.ts";
export type { DialectName } from "./remote/dialects.ts";
export {
  createEngineClient,
  type EngineAddress,
  type EngineClient,
  type EngineHttpRequest,
  type EngineResponse,
} from "./wire/engine-client.ts";
export { type WireDetail, WireError } from "./wire/wire-error.ts";
