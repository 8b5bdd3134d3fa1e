/**
 * @module
 * Structured logging with an allow-list of fields, and a wrapper that keeps secrets out of logs. Fields that a
 * program did not declare at start are never written.
 * Imported by both programs and every package.
 */
export { Hidden } from "./hidden.ts";
export { createLogger, type Logger, type LogLevel, type LogValue, logLevels } from "./logger.ts";
