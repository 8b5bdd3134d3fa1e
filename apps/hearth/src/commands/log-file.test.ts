import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { openLogFile } from "./log-file.ts";

test("a full log is rotated, with the previous file kept, and a restart appends to it", async () => {
  await using folder = await makeTemporaryFolder("log");
  const file = join(folder.path, "logs", "server.log");
  const write = openLogFile(file, 20);
  for (const line of ["first line\n", "second\n", "third line\n"]) write(line);
  expect(await readFile(file, "utf8")).toBe("third line\n");
  expect(await readFile(`${file}.1`, "utf8")).toBe("first line\nsecond\n");
  openLogFile(file, 20)("more\n");
  expect(await readFile(file, "utf8")).toBe("third line\nmore\n");
});
