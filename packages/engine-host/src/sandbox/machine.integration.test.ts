import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const module = fileURLToPath(new URL("machine.ts", import.meta.url));
const script = `const { inspectMachine } = await import(${JSON.stringify(module)}); console.log(inspectMachine().isRoot)`;
const command = [process.execPath, "--input-type=module", "--eval", script] as const;

test("root in a user namespace that maps root alone cannot switch users", () => {
  const args = ["--user", "--map-root-user", ...command];
  expect(execFileSync("unshare", args, { encoding: "utf8" }).trim()).toBe("false");
});

test("only root of the machine can switch users", () => {
  const [program, ...rest] = command;
  expect(execFileSync(program, rest, { encoding: "utf8" }).trim()).toBe(String(process.getuid?.() === 0));
});
