import { canonicalJson, type Json } from "@hearth-and-keep/audit-chain";
import type { Line } from "./make-export.ts";

/** Lines of an export; a string is written as it is. */
export type AlteredLines = readonly (Line | string)[];
export type Alter = (lines: readonly Line[]) => AlteredLines;

export function writeLines(lines: AlteredLines): readonly string[] {
  return lines.map((line) => (typeof line === "string" ? line : canonicalJson(line)));
}

/** The line of this type with this number; a negative one counts from the end. */
export function lineOf(lines: readonly Line[], type: string, at: number): Line {
  const line = lines.filter((each) => each["type"] === type).at(at);
  if (line === undefined) throw new RangeError(`The export has no line ${at} of type "${type}"`);
  return line;
}

type Change = Line | ((line: Line) => AlteredLines);

/** Gives the line other members, or replaces it with lines. */
export function change(type: string, at: number, changed: Change): Alter {
  return (lines) => {
    const target = lineOf(lines, type, at);
    const replacement = typeof changed === "function" ? changed(target) : [{ ...target, ...changed }];
    return lines.flatMap((line) => (line === target ? replacement : [line]));
  };
}

/** Changes the text of the line. */
export function changeText(type: string, at: number, replace: (text: string) => string): Alter {
  return change(type, at, (line) => {
    const text = canonicalJson(line);
    const changed = replace(text);
    if (changed === text) throw new RangeError("The text of the line does not change");
    return [changed];
  });
}

/** Gives one member of the line another value. */
export function changeMember<Value extends Json>(
  type: string,
  at: number,
  [name, compute]: readonly [string, (value: Value) => Json],
): Alter {
  // The caller knows the member's type.
  return change(type, at, (line) => [{ ...line, [name]: compute(line[name] as Value) }]);
}

export const remove = (type: string, at: number): Alter => change(type, at, () => []);
