/** Where measured figures are collected; unset when nobody is listening. */
export const figuresFile: string | undefined = process.env["FIGURES_FILE"];

export type Scale = "ci" | "nightly";

/** How large the slow tests are: `ci` ends each claim within minutes, `nightly` runs the full sizes. */
export const scale: Scale = process.env["SCALE"] === "nightly" ? "nightly" : "ci";

/** Inside `.ci/run` a timing bound fails only far outside, so that a noisy machine never blocks good work. */
export const isJudgedLoosely: boolean = process.env["TIMING"] === "loose";
