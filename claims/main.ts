/**
 * @module
 * Proves claims. `npm run -s show` lists every claim as `<topic> <line> <title>`; `npm run -s show -- <topic> <line>`
 * prepares its prerequisites, proves it, prints its figure as the last line and exits non-zero when it falls short;
 * `npm run -s show -- <topic>` proves all claims of a topic. Each topic's claims are in the folder of that name.
 */
import { allLines } from "./all-lines.ts";
import type { ShowLine } from "./line.ts";
import { prepare } from "./prepare.ts";

async function main([topic, line]: readonly string[]): Promise<number> {
  if (topic === undefined) {
    for (const each of allLines) print(`${each.topic} ${each.line} ${each.title}`);
    return 0;
  }
  const chosen = allLines.filter(
    (each) => each.topic === topic && (line === undefined || String(each.line) === line),
  );
  if (chosen.length === 0) {
    const name = [topic, line].filter((argument) => argument !== undefined).join(" ");
    process.stderr.write(`There is no claim "${name}"; 'npm run -s show' lists them\n`);
    return 2;
  }
  const results: Result[] = [];
  for (const each of chosen) results.push(await proveOne(each));
  // Repeated at the end, because proving a topic prints pages of output.
  if (chosen.length > 1) for (const { text } of results) print(text);
  return results.every(({ isProven }) => isProven) ? 0 : 1;
}

type Result = { readonly isProven: boolean; readonly text: string };

async function proveOne({ topic, line, title, needs, prove }: ShowLine): Promise<Result> {
  print(`${topic} ${line} ${title}`);
  for (const need of needs) await prepare(need);
  const startedAt = performance.now();
  const { isProven, figure } = await prove();
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const result = `${isProven ? "holds" : "FALLS SHORT"}: ${figure} (${seconds} s)`;
  print(result);
  return { isProven, text: `${topic} ${line} ${result}` };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await main(process.argv.slice(2));
