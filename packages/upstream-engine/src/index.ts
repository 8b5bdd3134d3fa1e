/**
 * @module
 * Engine drivers over HTTP: llama.cpp's own server, started and supervised by us, and pools of remote engines.
 * They fulfil the contract of the engine port; comments in the code say where an engine over HTTP cannot be trusted.
 * Imported by `scheduling/`, which loads engines, and by `main`, which selects them.
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
export { WireError, type WireErrorDetail } from "./wire/wire-error.ts";
