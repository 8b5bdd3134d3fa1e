import { appendFileSync, readFileSync } from "node:fs";
import { figuresFile } from "./config.ts";

export type Figure = {
  /** Topic and line of the claim, e.g. "ground 5". */
  readonly claim: string;
  readonly text: string;
  /** The claim fails when fewer were reached than needed. */
  readonly counted?: { readonly reached: number; readonly needed: number };
};

/** Called once per test, after its assertions have passed. */
export function recordFigure(figure: Figure): void {
  if (figuresFile !== undefined) appendFileSync(figuresFile, `${JSON.stringify(figure)}\n`);
}

export function readFigures(path: string): readonly Figure[] {
  const lines = readFileSync(path, "utf8").split("\n");
  // recordFigure writes one JSON object per line.
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Figure);
}
