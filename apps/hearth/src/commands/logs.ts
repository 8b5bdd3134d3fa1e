import { open, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { ownFiles } from "../server-client/app-paths.ts";
import { callFailure } from "../server-client/call-failure.ts";
import { screen } from "../terminal/screen.ts";
import { makeSafeLine } from "../terminal/untrusted-text.ts";
import type { Define } from "./command-row.ts";

const mostBytes = 16 * 1024 * 1024;
const lookEveryMilliseconds = 200;

export const define: Define = (command) => {
  command
    .option("-f, --follow", "go on with what is written from now on, until Ctrl-C")
    .option("-n, --lines <number>", "how many of the last lines", "100")
    .action(async ({ follow, lines }: { readonly follow?: boolean; readonly lines: string }) => {
      const count = /^\d{1,6}$/u.test(lines) ? Number(lines) : undefined;
      if (count === undefined) {
        const sentence = `Cannot use --lines "${lines}": it must be a whole number`;
        throw callFailure({ kind: "words-wrong", sentence });
      }
      const { log } = ownFiles();
      const end = await printLast(log, count);
      if (follow === true) await printFurther(log, end ?? 0);
      else if (end === undefined) {
        screen.line(
          "There is no log: hearth run has started no server here. One of hearth serve logs to its terminal",
        );
      }
    });
};

/** Gives where the next line will begin; undefined when there is no file. */
async function printLast(path: string, count: number): Promise<number | undefined> {
  const size = await sizeOf(path);
  if (size === undefined) return undefined;
  const text = await readFrom(path, Math.max(0, size - mostBytes));
  const lines = text.split("\n").filter((line) => line !== "");
  if (count > 0) for (const line of lines.slice(-count)) screen.line(makeSafeLine(line));
  return size;
}

async function printFurther(path: string, start: number): Promise<never> {
  for (let place = start; ; ) {
    await sleep(lookEveryMilliseconds);
    const size = (await sizeOf(path)) ?? 0;
    // It has begun anew.
    if (size < place) place = 0;
    if (size === place) continue;
    const text = await readFrom(path, place);
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    for (const line of whole.split("\n").slice(0, -1)) screen.line(makeSafeLine(line));
    place += Buffer.byteLength(whole);
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}

async function readFrom(path: string, place: number): Promise<string> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(mostBytes), position: place });
  return buffer.toString("utf8", 0, bytesRead);
}
