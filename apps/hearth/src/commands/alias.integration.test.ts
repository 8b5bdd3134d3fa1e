import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { startTestServer, tiny } from "../test/start-test-server.ts";

const program = fileURLToPath(new URL("../../bin/hearth.js", import.meta.url));

function hearth(url: string, ...args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, "alias", "--host", url, ...args], (_error, output, errors) =>
      resolve(output + errors),
    );
  });
}

test("an alias is added with parameters and a fallback, listed and removed", async () => {
  await using server = await startTestServer({ models: { tiny }, script: () => [] });
  const options = ["--parameter", "temperature=0.2", "--parameter", "stop=a", "--parameter", "stop=b"];
  expect(await hearth(server.url, "small", "tiny", ...options, "--fallback", "other")).toBe(
    "small now stands for tiny\n",
  );
  expect(await hearth(server.url, "--list")).toMatch(
    /^NAME +MODEL +FALLBACK +PARAMETERS\nsmall +tiny +other +temperature=0\.2 stop=a,b\n$/u,
  );
  expect(await hearth(server.url, "small", "--remove")).toBe("Removed small\n");
  expect(await hearth(server.url, "small", "tiny", "--parameter", "temprature=1")).toContain(
    "did you mean temperature?",
  );
});
