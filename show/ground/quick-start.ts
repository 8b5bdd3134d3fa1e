export type QuickStartStep =
  | { readonly kind: "command"; readonly line: string; readonly expected: readonly string[] }
  | { readonly kind: "server"; readonly line: string };

/**
 * The lines of every `sh` block under the README's "Quick start", in order. A line that serves is left running;
 * comment lines after a command are the output it promises.
 */
export function readQuickStart(readme: string): readonly QuickStartStep[] {
  const section = /^## Quick start$([\s\S]*?)^## /m.exec(readme)?.[1] ?? "";
  const lines = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap((block) =>
    (block[1] ?? "").trim().split("\n"),
  );
  const steps: QuickStartStep[] = [];
  for (const line of lines) {
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
