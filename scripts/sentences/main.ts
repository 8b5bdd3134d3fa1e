/**
 * @module
 * Prints every user-visible sentence of a program, from its source: JSX text, attributes, help, errors, log
 * messages and descriptions. `npm run -s sentences -- hearth`, or `keep`; with a second argument, one area only.
 */
import { type Program, programs } from "./areas.ts";
import { collectSentences } from "./collect-sentences.ts";

function main([programName = "", areaName]: readonly string[]): number {
  const program: Program | undefined = programs[programName];
  if (program === undefined) {
    process.stderr.write(`Usage: npm run -s sentences -- ${Object.keys(programs).join("|")} [AREA]\n`);
    return 2;
  }
  const areas = Object.entries(program).filter(([name]) => areaName === undefined || name === areaName);
  for (const [name, patterns] of areas) {
    const sentences = collectSentences(patterns);
    process.stdout.write(`\n== ${programName}: ${name} (${sentences.length} sentences)\n`);
    for (const { path, line, text } of sentences) process.stdout.write(`${path}:${line}\t${text}\n`);
  }
  return areas.length > 0 ? 0 : 2;
}

process.exitCode = main(process.argv.slice(2));
