/**
 * @module
 * What both programs print on a terminal: sanitized and measured text, tables, errors of the argument parser, and
 * completion scripts. No control sequence from a server reaches the terminal, and output fits the window.
 * Imported by the command lines of both programs.
 */
export { type CommandCompletion, shells, writeCompletion } from "./completion-scripts.ts";
export { printToStderr, reportUsageError } from "./report-usage-error.ts";
export { sanitizeLine, sanitizeText } from "./sanitize-text.ts";
export { errorScreen, type Screen, screen } from "./screen.ts";
export { renderTable } from "./table.ts";
export { displayWidth, padToWidth, truncateToWidth, wrapToWidth } from "./text-width.ts";
