import { appendFileSync, readFileSync } from "node:fs";
import { figuresFile } from "./config.ts";

export type Figure = {
  /** The claim it belongs to: topic and line, as in "ground 5". */
  readonly claim: string;
  readonly text: string;
  /** What was reached and what had to be; a claim that counts something fails when less was counted. */
  readonly counted?: { readonly reached: number; readonly needed: number };
};

/** Tells whoever runs the claim what was measured. A test calls it once, after its assertions held. */
export function recordFigure(figure: Figure): void {
  if (figuresFile !== undefined) appendFileSync(figuresFile, `${JSON.stringify(figure)}\n`);
}

export function readFigures(path: string): readonly Figure[] {
  const lines = readFileSync(path, "utf8").split("\n");
  // Written by recordFigure above, one object a line.
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Figure);
}
