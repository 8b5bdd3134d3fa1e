import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const module = fileURLToPath(new URL("machine.ts", import.meta.url));
const look = `const { lookAtMachine } = await import(${JSON.stringify(module)}); console.log(lookAtMachine().isRoot)`;
const words = [process.execPath, "--input-type=module", "--eval", look] as const;

test("root of a container that has no users but itself gives no other user to what it starts", () => {
  const within = ["--user", "--map-root-user", ...words];
  expect(execFileSync("unshare", within, { encoding: "utf8" }).trim()).toBe("false");
});

test("root of the machine gives another user, and everybody else does not", () => {
  const [program, ...rest] = words;
  expect(execFileSync(program, rest, { encoding: "utf8" }).trim()).toBe(String(process.getuid?.() === 0));
});
