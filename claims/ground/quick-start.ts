export type QuickStartStep =
  | { readonly kind: "command"; readonly line: string; readonly expected: readonly string[] }
  | { readonly kind: "server"; readonly line: string }
  | { readonly kind: "file"; readonly name: string; readonly content: string };

/** The pages a new user follows, in this order. */
export const quickStartPages: readonly string[] = [
  "README.md",
  "docs/hearth/quick-start.md",
  "docs/keep/quick-start.md",
];

/**
 * The steps of a page, in order: each line of an `sh` block, and each program to save. A server is left running;
 * comment lines after a command are its expected output, where "…" stands for any text. On a page with a section
 * "Quick start", only that section counts.
 */
export function readQuickStart(page: string): readonly QuickStartStep[] {
  const section = /^## Quick start$([\s\S]*?)^## /m.exec(page)?.[1] ?? page;
  const blocks = [...section.matchAll(/^```(sh|js|python)\n([\s\S]*?)^```$/gm)];
  return blocks.flatMap(({ 1: language, 2: content = "", index }) =>
    language === "sh" ? readLines(content) : [{ kind: "file", name: nameBefore(section, index), content }],
  );
}

function readLines(block: string): readonly QuickStartStep[] {
  const steps: QuickStartStep[] = [];
  for (const line of block.trim().split("\n")) {
    const last = steps.at(-1);
    if (line.startsWith("# ")) {
      if (last?.kind !== "command")
        throw new Error(`Cannot read the quick start: "${line}" follows no command`);
      steps[steps.length - 1] = { ...last, expected: [...last.expected, line.slice(2)] };
    } else {
      steps.push(/ serve\b/.test(line) ? { kind: "server", line } : { kind: "command", line, expected: [] });
    }
  }
  return steps;
}

/** The sentence before a program names the file to save it as. */
function nameBefore(section: string, index: number): string {
  const name = /Save this as\s+`([^`/]+)`:\s*$/.exec(section.slice(0, index))?.[1];
  if (name === undefined)
    throw new Error("Cannot read the quick start: a program has no file name before it");
  return name;
}

/** Whether an output has the expected line. */
export function hasExpectedLine(output: string, expected: string): boolean {
  const pattern = new RegExp(
    `^${expected
      .split("…")
      .map((text) => RegExp.escape(text))
      .join(".+")}$`,
    "u",
  );
  return output.split("\n").some((line) => pattern.test(line.trim()));
}
