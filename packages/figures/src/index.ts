/**
 * @module
 * Measurements of tests: a figure belongs to one claim and has a text and, where something is counted, the count and
 * the required count. `npm run show` prints figures and CI tabulates them.
 * Imported by tests, benchmarks, claims and CI, never by shipped code.
 */
export { chooseSize, hasLooseTimingBounds, type Scale, scale } from "./config.ts";
export { startProcessorClock } from "./processor-clock.ts";
export { type Figure, readFigures, recordFigure } from "./record-figure.ts";
