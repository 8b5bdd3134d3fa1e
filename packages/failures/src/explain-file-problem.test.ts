import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { explainFileProblem } from "./index.ts";

test("why a folder cannot be made is told without the system's code, and a defect is not explained", () => {
  let problem: unknown;
  try {
    mkdirSync(join(import.meta.filename, "below"), { recursive: true });
  } catch (thrown) {
    problem = thrown;
  }
  expect(explainFileProblem(problem)).toBe("it is a file, or lies below one");
  expect(explainFileProblem(new TypeError("a defect"))).toBeUndefined();
});
