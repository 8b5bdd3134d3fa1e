/**
 * @module
 * How a test tells what it measured: a figure that belongs to one claim, with its count and what was needed.
 * `show` prints them, CI tabulates them. Imported by tests, benchmarks, `show` and CI; never by what we ship.
 */
export { isJudgedLoosely, type Scale, scale } from "./config.ts";
export { type Figure, readFigures, recordFigure } from "./record-figure.ts";
