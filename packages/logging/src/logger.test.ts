import { setImmediate as nextTurn } from "node:timers/promises";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { createLogger, Hidden } from "./index.ts";
import { collectLines } from "./logger.ts";

function collect(level: "info" | "debug" = "info") {
  const lines: string[] = [];
  const logger = createLogger({ level, allowedFields: ["port", "route"], write: (line) => lines.push(line) });
  return { logger, parsed: () => lines.map((line): unknown => JSON.parse(line)), lines };
}

test("a log line has its message, level, time and allowed fields", () => {
  const { logger, parsed } = collect();
  logger.info("Listening", { port: 11434 });
  expect(parsed()).toEqual([
    { level: "info", time: expect.stringMatching(/^\d{4}-.*Z$/), message: "Listening", port: 11434 },
  ]);
});

test("a field that is not on the allow-list is dropped, even from an object of a wider type", () => {
  const { logger, lines } = collect();
  const wider: { port: number; password: string } = { port: 1, password: "canary-7" };
  logger.info("Listening", wider);
  expect(lines.join("")).toContain('"port":1');
  expect(lines.join("")).not.toContain("canary-7");
});

test("lines below the log level are not written", () => {
  const quiet = collect("info");
  quiet.logger.debug("Detail");
  expect(quiet.lines).toEqual([]);
  const verbose = collect("debug");
  verbose.logger.debug("Detail");
  expect(verbose.lines).toHaveLength(1);
});

test("the lines of one turn are written together, in order, and none is lost or repeated", async () => {
  const written: string[] = [];
  const write = collectLines((text) => written.push(text));
  write("1\n");
  write("2\n");
  expect(written).toEqual([]);
  await nextTurn();
  write("3\n");
  await nextTurn();
  await nextTurn();
  expect(written).toEqual(["1\n2\n", "3\n"]);
});

test("a hidden value is never printed, and only reveal() returns it", () => {
  const hidden = new Hidden("canary-8");
  const printed = [JSON.stringify({ hidden }), inspect({ hidden }), String(hidden)].join(" ");
  expect(printed).not.toContain("canary-8");
  expect(printed.match(/\[hidden\]/g)).toHaveLength(3);
  expect(hidden.reveal()).toBe("canary-8");
});
