import { diff } from "node:util";
import { type Screen, sanitizeText } from "@hearth-and-keep/terminal";
import type { Change, ShownValue } from "./compare-versions.ts";

/** Longer values are shown as a whole: finding their common lines takes quadratic time. */
const maxComparedLines = 2000;

type Line = readonly [sign: "-" | " " | "+", text: string];

/** The lines of both values, as diff(1) shows them. */
export function formatChange({ left, right }: Change, { style }: Pick<Screen, "style">): readonly string[] {
  const color = { "-": "red", " ": "dim", "+": "green" } as const;
  return compareLines(linesOf(left), linesOf(right)).map(([sign, text]) =>
    style(color[sign], `  ${sign} ${text}`),
  );
}

function compareLines(left: readonly string[], right: readonly string[]): readonly Line[] {
  if (left.length + right.length > maxComparedLines)
    return [...left.map((text): Line => ["-", text]), ...right.map((text): Line => ["+", text])];
  const signs = { [-1]: "+", 0: " ", 1: "-" } as const;
  return diff(left, right).map(([operation, text]): Line => [signs[operation], text]);
}

function linesOf(shown: ShownValue | undefined): readonly string[] {
  if (shown === undefined) return [];
  if (shown.encoding === "base64") return [`base64:${shown.value}`];
  return sanitizeText(shown.value).split("\n");
}
