/**
 * @module
 * What Hearth's server and its own clients agree on beyond the three public APIs: the machine-readable code of every
 * error of `/api/*`, the fields beside it, the next step to suggest for it, the comments of a stream that waits, the roles of API keys, and the settings that
 * point other programs at a server.
 * Imported by the server, the terminal commands and the web UI, so it also runs in a browser.
 */
export {
  type ErrorBody,
  type ErrorDetails,
  errorCodeHeader,
  type ReceivedError,
  readErrorBody,
} from "./error-body.ts";
export { type FailureCode, failureCodes, isFailureCode } from "./failure-code.ts";
export type { CallerStatus, KeyRole } from "./key-role.ts";
export { type NextStep, nextStepFor, nextStepForStatus } from "./next-step.ts";
export {
  anyKey,
  type JsonEntry,
  type JsonValue,
  keyPlaceholder,
  minAgentContextTokens,
  type Program,
  type ProgramContext,
  type ProgramSettings,
  pathOf,
  type SettingsFile,
} from "./programs/program.ts";
export { programs } from "./programs/program-table.ts";
export {
  type RenderOptions,
  renderSettings,
  type SettingsBlock,
  toObject,
} from "./programs/render-settings.ts";
export { readStreamNotice, type StreamNotice } from "./stream-notice.ts";
