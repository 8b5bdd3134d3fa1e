/** File that recorded figures are appended to; unset outside claim runs. */
export const figuresFile: string | undefined = process.env["FIGURES_FILE"];

/**
 * Size of the slow tests: `ci`, set by `.ci/run`, detects what is broken; `show`, the default, proves a claim within
 * minutes; `nightly` runs the full sizes.
 */
export type Scale = "ci" | "show" | "nightly";

export const scale: Scale = readScale(process.env["SCALE"]);

/** In CI timing bounds fail only by a wide margin, so that a noisy machine does not block a change. */
export const hasLooseTimingBounds: boolean = scale === "ci";

export function chooseSize<Size>(sizes: Readonly<Record<Scale, Size>>): Size {
  return sizes[scale];
}

function readScale(text: string | undefined): Scale {
  if (text === undefined || text === "show") return "show";
  if (text === "ci" || text === "nightly") return text;
  throw new Error(`SCALE is "${text}", but must be "ci", "show" or "nightly"`);
}
