import { inspect } from "node:util";
import { expect, test } from "vitest";
import { createLogger, Hidden } from "./index.ts";

function collect(level: "info" | "debug" = "info") {
  const lines: string[] = [];
  const logger = createLogger({ level, allowedFields: ["port", "route"], write: (line) => lines.push(line) });
  return { logger, parsed: () => lines.map((line): unknown => JSON.parse(line)), lines };
}

test("a line carries its phrase, level, time and allowed fields", () => {
  const { logger, parsed } = collect();
  logger.info("Listening", { port: 11434 });
  expect(parsed()).toEqual([
    { level: "info", time: expect.stringMatching(/^\d{4}-.*Z$/), message: "Listening", port: 11434 },
  ]);
});

test("a field that is not on the allow-list is dropped even when a wider object smuggles it in", () => {
  const { logger, lines } = collect();
  const wider: { port: number; password: string } = { port: 1, password: "canary-7" };
  logger.info("Listening", wider);
  expect(lines.join("")).toContain('"port":1');
  expect(lines.join("")).not.toContain("canary-7");
});

test("lines below the chosen level are not written, lines at it are", () => {
  const quiet = collect("info");
  quiet.logger.debug("Detail");
  expect(quiet.lines).toEqual([]);
  const talkative = collect("debug");
  talkative.logger.debug("Detail");
  expect(talkative.lines).toHaveLength(1);
});

test("a hidden value shows nothing however it is printed, and reveals itself only when asked", () => {
  const hidden = new Hidden("canary-8");
  const printed = [JSON.stringify({ hidden }), inspect({ hidden }), String(hidden)].join(" ");
  expect(printed).not.toContain("canary-8");
  expect(printed.match(/\[hidden\]/g)).toHaveLength(3);
  expect(hidden.reveal()).toBe("canary-8");
});
