/**
 * @module
 * The GitHub Action: gets secrets by the identity of the job, and passes them to later steps. Guarantees that every line of
 * a value is masked before anything else is written, that no value can end its entry in a file of the runner or start a
 * command, and that its token is revoked at the end of the step, or of the job if later steps get it.
 * Bundled by `scripts/build-github-action.ts`; imports the SDK, and nothing imports it.
 */
import { appendFile } from "node:fs/promises";

/** Hides a value in the log, as a whole and line by line: the log is written by lines. */
export function maskValue(value: string): void {
  for (const text of new Set([value, ...value.split(/\r\n|\r|\n/u).map((line) => line.trim())]))
    if (isWorthMasking(text)) writeCommand("add-mask", text);
}

/** Lines such as a bracket of a JSON value are no secret, and hiding them would hide most of the log. */
function isWorthMasking(text: string): boolean {
  return !/^[\s{}()[\],;:"']*$/u.test(text);
}

export function writeError(message: string): void {
  writeCommand("error", message);
}

export function writeWarning(message: string): void {
  writeCommand("warning", message);
}

export function writeLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Escaped as the runner expects, so that the text cannot start another command. */
function writeCommand(command: string, text: string): void {
  const escaped = text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  writeLine(`::${command}::${escaped}`);
}

/** Adds an entry to one of the runner's files. The delimiter is random, so that no value can contain it. */
export async function appendEntry(file: string, name: string, value: string): Promise<void> {
  const delimiter = `keep_${crypto.randomUUID()}`;
  await appendFile(file, `${name}<<${delimiter}\n${value}\n${delimiter}\n`);
}
