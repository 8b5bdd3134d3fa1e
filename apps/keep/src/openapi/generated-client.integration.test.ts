import { execFile } from "node:child_process";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import { findTypeErrors, generateClient, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { routes } from "../routes.ts";
import { openVault } from "../test/open-vault.ts";

const flow = fileURLToPath(new URL("fixtures/client-flow.ts.txt", import.meta.url));
const run = promisify(execFile);

test("a client generated from the document compiles, has a function for each route, and completes a flow", {
  timeout: 600_000,
}, async () => {
  await using keep = await openVault();
  await using folder = await makeTemporaryFolder("generated-client");
  await generateClient(await (await fetch(new URL("/openapi.json", keep.url))).text(), folder.path);
  const program = join(folder.path, "flow.ts");
  await copyFile(flow, program);
  expect(await findTypeErrors(folder.path)).toBe("");
  const functions = await readFile(join(folder.path, "client/sdk.gen.ts"), "utf8");
  const missing = routes.filter(({ operationId }) => !functions.includes(`export const ${operationId} =`));
  expect(missing).toEqual([]);
  const environment = { KEEP_URL: keep.url, TOKEN: keep.token.text };
  const { stdout } = await run(process.execPath, [program], { cwd: folder.path, env: environment });
  expect(JSON.parse(stdout)).toEqual(["first", ["/NAME"], ["secrets:read"], "not_found", "deleted"]);
  await writeFile(program, (await readFile(flow, "utf8")).replace('"secrets:read"', '"secrets:reed"'));
  expect(await findTypeErrors(folder.path)).toContain("secrets:reed");
  recordFigure({
    claim: "teams 10",
    text: `a generated client has a function for each of ${routes.length} routes, compiles and completes a flow of 8 calls`,
    counted: { reached: routes.length - missing.length, needed: routes.length },
  });
});
