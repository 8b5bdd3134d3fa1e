import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { explainFileError } from "./index.ts";

test("a file error is explained in plain words, a defect is not explained", () => {
  let error: unknown;
  try {
    mkdirSync(join(import.meta.filename, "below"), { recursive: true });
  } catch (thrown) {
    error = thrown;
  }
  expect(explainFileError(error)).toBe("part of the path is a file, not a folder");
  expect(explainFileError(new TypeError("a defect"))).toBeUndefined();
});
