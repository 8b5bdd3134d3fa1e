import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

test("lines of a program that exits in the same turn are written", async () => {
  const logger = new URL("logger.ts", import.meta.url).href;
  const program = `
    const { createLogger } = await import(${JSON.stringify(logger)});
    createLogger({ level: "info", allowedFields: [] }).info("Last words");
    process.exit(3);
  `;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([3, expect.stringContaining("Last words")]);
});
