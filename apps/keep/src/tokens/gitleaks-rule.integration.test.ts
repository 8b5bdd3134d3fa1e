import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder, prepareGitleaks } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { generateToken } from "./token-format.ts";

const run = promisify(execFile);
const rule = fileURLToPath(new URL("../../../../docs/keep/secret-scanning/gitleaks.toml", import.meta.url));
const packages = ["fastify", "pg", "lru-cache", "typebox", "pino", "fast-check"];

/** Text around a leaked token. */
const contexts: readonly ((token: string) => string)[] = [
  (token) => `KEEP_TOKEN=${token}\n`,
  (token) => `export KEEP_TOKEN='${token}'\r\n`,
  (token) => `{"token":"${token}","name":"ci"}`,
  (token) => `token: ${token} # of the build\n`,
  (token) => `const token = "${token}";\n`,
  (token) => `curl -H 'Authorization: Bearer ${token}' https://keep.example/api/secrets/vaults\n`,
  (token) => `https://keep.example/?token=${token}&limit=1\n`,
  (token) => `2026-01-01T00:00:00Z GET /vaults Bearer ${token}\n`,
  (token) => `${"x".repeat(3000)} ${token} ${"y".repeat(3000)}`,
  (token) => `<token>${token}</token>`,
  (token) => `| ${token} | deploy |\n`,
  (token) => `ENV KEEP_TOKEN=${token}\n`,
  (token) => `token_${token}_end`,
  (token) => `\uFEFF${token}`,
  (token) => `["${token}",\n"${generateToken().slice(0, -1)}"]`,
];

type Scan = { readonly found: ReadonlySet<string>; readonly bytes: number };

async function scan(folder: string, reportFolder: string): Promise<Scan> {
  const report = join(reportFolder, "report.json");
  const options = [
    "--config",
    rule,
    "--report-format",
    "json",
    "--report-path",
    report,
    "--no-banner",
    "--no-color",
  ];
  const { stderr } = await run(await prepareGitleaks(), ["dir", folder, ...options, "--exit-code", "0"]);
  // The report format of gitleaks.
  const findings = JSON.parse(await readFile(report, "utf8")) as readonly { readonly Secret: string }[];
  return {
    found: new Set(findings.map(({ Secret }) => Secret)),
    bytes: Number(/scanned ~(?<bytes>\d+) bytes/u.exec(stderr)?.groups?.["bytes"]),
  };
}

test("the gitleaks rule finds 1,000 of 1,000 tokens, and none in our dependencies", {
  timeout: 1_000_000,
}, async () => {
  await using planted = await makeTemporaryFolder("planted-tokens");
  await using reports = await makeTemporaryFolder("leak-reports");
  const tokens = Array.from({ length: 1000 }, generateToken);
  for (const [index, plant] of contexts.entries()) {
    const subset = tokens.filter((_, position) => position % contexts.length === index);
    const half = Math.ceil(subset.length / 2);
    // Half together in one file, half in a file each.
    await writeFile(join(planted.path, `all-${index}.txt`), subset.slice(0, half).map(plant).join("\n"));
    for (const [position, token] of subset.slice(half).entries()) {
      await writeFile(join(planted.path, `one-${index}-${position}`), plant(token));
    }
  }
  const { found } = await scan(planted.path, reports.path);
  expect(tokens.filter((token) => !found.has(token))).toEqual([]);
  expect(found.size).toBe(1000);
  const scans = [];
  for (const name of packages) {
    const folder = fileURLToPath(new URL(`../../../../node_modules/${name}`, import.meta.url));
    scans.push(await scan(folder, reports.path));
  }
  expect(scans.flatMap((one) => [...one.found])).toEqual([]);
  const bytes = scans.reduce((sum, one) => sum + one.bytes, 0);
  expect(bytes).toBeGreaterThan(1_000_000);
  recordFigure({
    claim: "keep 9",
    text: `gitleaks finds ${found.size} of ${tokens.length} planted tokens, and none in ${Math.round(bytes / 1e6)} MB of ${packages.length} packages`,
    counted: { reached: found.size, needed: 1000 },
  });
});
