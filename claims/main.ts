/**
 * @module
 * The one way to prove a claim. `npm run -s show` lists every claim as `<topic> <line> <title>`;
 * `npm run -s show -- <topic> <line>` prepares what that one needs, proves it, prints its figure as the last line
 * and exits non-zero when it falls short. Each topic's claims are in a folder of its name. CI runs the same code.
 */
import { allLines } from "./all-lines.ts";
import type { ShowLine } from "./line.ts";
import { prepare } from "./prepare.ts";

async function main([topic, line]: readonly string[]): Promise<number> {
  if (topic === undefined) {
    for (const each of allLines) print(`${each.topic} ${each.line} ${each.title}`);
    return 0;
  }
  const chosen = allLines.find((each) => each.topic === topic && String(each.line) === line);
  if (chosen === undefined) {
    process.stderr.write(`There is no line "${[topic, line].join(" ")}"; 'npm run -s show' lists them\n`);
    return 2;
  }
  return proveOne(chosen);
}

async function proveOne({ topic, line, title, needs, prove }: ShowLine): Promise<number> {
  print(`${topic} ${line} ${title}`);
  for (const need of needs) await prepare(need);
  const startedAt = performance.now();
  const { isProven, figure } = await prove();
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  print(`${isProven ? "holds" : "FALLS SHORT"}: ${figure} (${seconds} s)`);
  return isProven ? 0 : 1;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.exitCode = await main(process.argv.slice(2));
