/**
 * @module
 * JSON from outside, with limits on its depth and its number of values. A text within the limit of its size can be
 * costly to parse, and a deeply nested value overflows the stack of whatever copies or prints it later.
 * Imported by everything that parses JSON which another program wrote.
 */
export { findExceededLimit, type JsonLimits } from "./find-exceeded-limit.ts";
export { parseBoundedJson } from "./parse-bounded-json.ts";
