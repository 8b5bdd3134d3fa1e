import { open, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { sanitizeLine, screen } from "@hearth-and-keep/terminal";
import { Option } from "commander";
import { appPaths } from "../server-client/app-paths.ts";
import { callFailure } from "../server-client/call-failure.ts";
import type { DefineCommand } from "./command-entry.ts";

const maxReadBytes = 16 * 1024 * 1024;
const pollIntervalMilliseconds = 200;

export const define: DefineCommand = (command) => {
  command
    .option("-f, --follow", "keep printing new lines until Ctrl-C")
    .addOption(
      new Option("-n, --lines <number>", "number of lines to show from the end").default("100", "100"),
    )
    .action(async ({ follow, lines }: { readonly follow?: boolean; readonly lines: string }) => {
      const count = /^\d{1,6}$/u.test(lines) ? Number(lines) : undefined;
      if (count === undefined) {
        const message = `Invalid --lines "${lines}": use a whole number of at most 6 digits`;
        throw callFailure({ kind: "usage-error", message });
      }
      const { log } = appPaths();
      const end = await printTail(log, count);
      if (follow === true) await followFile(log, end ?? 0);
      else if (end === undefined) {
        screen.writeLine(
          'No log: "hearth run" has not started a background server, and "hearth serve" logs to its terminal',
        );
      }
    });
};

/** Prints the last lines, and returns the file size; undefined if there is no file. */
async function printTail(path: string, count: number): Promise<number | undefined> {
  const size = await fileSize(path);
  if (size === undefined) return undefined;
  const text = await readFrom(path, Math.max(0, size - maxReadBytes));
  const lines = text.split("\n").filter((line) => line !== "");
  if (count > 0) for (const line of lines.slice(-count)) screen.writeLine(sanitizeLine(line));
  return size;
}

async function followFile(path: string, start: number): Promise<never> {
  for (let offset = start; ; ) {
    await sleep(pollIntervalMilliseconds);
    const size = (await fileSize(path)) ?? 0;
    // The log was rotated.
    if (size < offset) offset = 0;
    if (size === offset) continue;
    const text = await readFrom(path, offset);
    const completeLines = text.slice(0, text.lastIndexOf("\n") + 1);
    for (const line of completeLines.split("\n").slice(0, -1)) screen.writeLine(sanitizeLine(line));
    offset += Buffer.byteLength(completeLines);
  }
}

async function fileSize(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

async function readFrom(path: string, position: number): Promise<string> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(maxReadBytes), position });
  return buffer.toString("utf8", 0, bytesRead);
}
