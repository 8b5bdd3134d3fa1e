/**
 * @module
 * Structured log lines by allow-list, and the wrapper that keeps secrets out of them.
 * A field that a program did not name at start never reaches a line, whoever passes it.
 * Both programs and all packages may import this.
 */
export { Hidden } from "./hidden.ts";
export { createLogger, type Logger, type LogLevel, type LogValue, logLevels } from "./logger.ts";
