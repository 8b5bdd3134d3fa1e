/**
 * @module
 * Keep's SDK for TypeScript and JavaScript: reads and writes secrets over HTTP with the standard `fetch`, without
 * dependencies, on Node 20 and newer, Deno 2 and Bun. Guarantees that tokens are sent to one server only, over HTTPS or on
 * this machine, that responses and retries are bounded, and that no value is printed, inspected or serialized unless the
 * program reveals it. Published on its own; imports nothing of the other folders.
 */
export type { VaultOptions } from "./config.ts";
export {
  AccessDeniedError,
  ConfigurationError,
  ConnectionError,
  KeepError,
  NotFoundError,
  PreconditionFailedError,
  RequestError,
  UnavailableError,
} from "./errors.ts";
export type { EgressRule, FieldProblem, SecretMetadata, SecretType } from "./responses.ts";
export { Secret, Secrets } from "./secrets.ts";
export { openVault, type ReadOptions, type Vault, type WriteOptions } from "./vault.ts";
export { gitHubToken, tokenFromFile } from "./workload.ts";
