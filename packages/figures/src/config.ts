/** File that recorded figures are appended to; unset outside claim runs. */
export const figuresFile: string | undefined = process.env["FIGURES_FILE"];

export type Scale = "ci" | "nightly";

/** Size of the slow tests: `ci` finishes each claim within minutes, `nightly` runs the full sizes. */
export const scale: Scale = process.env["SCALE"] === "nightly" ? "nightly" : "ci";

/** Set by `.ci/run`: timing bounds fail only by a wide margin, so that a noisy machine does not block a change. */
export const hasLooseTimingBounds: boolean = process.env["TIMING"] === "loose";
