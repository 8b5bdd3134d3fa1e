import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { recordFigure } from "@hearth-and-keep/figures";
import { childEnvironment } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, openVault } from "../../../apps/keep/src/test/open-vault.ts";
import { readBlocks } from "../../test/documented-blocks.ts";
import { buildScript, externalSecretsReaders, missingReaders } from "./config.ts";

let vault: OpenedVault;
beforeAll(async () => {
  vault = await openVault();
});
afterAll(() => vault[Symbol.asyncDispose]());

/** The documented stores, and the Secret with the token as `kubectl` creates it. */
async function readManifests(token: string): Promise<readonly string[]> {
  const [stores = ""] = await readBlocks("Kubernetes", "yaml");
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "keep-token", labels: { "external-secrets.io/type": "webhook" } },
    stringData: { token },
  };
  const addressed = stores
    .replaceAll("https://keep.example", vault.url)
    .replaceAll("VAULT", vault.person.vaultId);
  return [...addressed.split("---\n"), JSON.stringify(secret)];
}

test("the documented stores name the routes of the API", async () => {
  const token = await vault.addToken({ scopes: ["secrets:read"] });
  const manifests = await readManifests(token);
  await vault.write("/prod/api/A", "a & é");
  // As the operator escapes keys in URLs.
  for (const [name, key] of [
    ["keep", "prod%2Fapi%2FA"],
    ["keep-folder", "%2Fprod%2Fapi"],
  ] as const) {
    const manifest = manifests.find((each) => each.includes(`{ name: ${name} }`)) ?? "";
    const [, url = ""] = /url: "(.*)"/u.exec(manifest) ?? [];
    const address = url.replace("{{ .remoteRef.key }}", key);
    const response = await fetch(address, { headers: { authorization: `Bearer ${token}` } });
    expect([response.status, await response.json()]).toMatchObject([
      200,
      name === "keep" ? { value: "a & é" } : { values: { A: "a & é" } },
    ]);
  }
});

test.each(missingReaders)("without %s, the figure says how to get the operator's provider", (variable) => {
  const text = `External Secrets Operator was not run: set ${variable} to what ${buildScript} compiles`;
  expect(text).toContain("EXTERNAL_SECRETS");
  recordFigure({ claim: "client 7", text });
});

type Result = {
  readonly value?: string;
  readonly values?: object;
  readonly missing?: true;
  readonly error?: string;
};

test.each(externalSecretsReaders)(
  "the operator's own provider reads, refreshes and is refused",
  async (program) => {
    const token = await vault.addToken({ scopes: ["secrets:read"], paths: ["/prod/**"] });
    const child = spawn(program, { env: childEnvironment(), stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    child.stdin.write(`${JSON.stringify({ manifests: await readManifests(token) })}\n`);
    const read = async (operation: "get" | "map", key: string): Promise<Result> => {
      const store = operation === "get" ? "keep" : "keep-folder";
      child.stdin.write(`${JSON.stringify({ operation, store, key })}\n`);
      // A line of the program's own protocol.
      return JSON.parse((await lines.next()).value ?? "{}") as Result;
    };
    const results: (readonly [step: string, result: Result, expected: Result | object])[] = [];
    const check = async (
      step: string,
      [operation, key]: readonly ["get" | "map", string],
      expected: object,
    ) => results.push([step, await read(operation, key), expected]);
    await vault.write("/prod/web/A", "first");
    await vault.write("/prod/web/URL", "https://${./A}/");
    await vault.write("/dev/A", "other");
    await check("a secret", ["get", "prod/web/A"], { value: "first" });
    await check("a reference", ["get", "prod/web/URL"], { value: "https://first/" });
    await check("a folder", ["map", "/prod/web"], { values: { A: "first", URL: "https://first/" } });
    await vault.write("/prod/web/A", 'line 1\n"line 2" é');
    await check("a rotated secret", ["get", "prod/web/A"], { value: 'line 1\n"line 2" é' });
    await check("a folder with it", ["map", "/prod/web"], { values: { A: 'line 1\n"line 2" é' } });
    await check("another path", ["get", "dev/A"], { error: expect.stringContaining("403") });
    await check("another folder", ["map", "/dev"], { error: expect.stringContaining("403") });
    await vault.request("DELETE", "/secrets/by-path/prod/web/URL");
    await check("a deleted secret", ["get", "prod/web/URL"], { missing: true });
    await check("a folder without it", ["map", "/prod/web"], { values: { A: 'line 1\n"line 2" é' } });
    await vault.request("DELETE", "/api/secrets/tokens/self", { token });
    await check("a secret for a revoked token", ["get", "prod/web/A"], {
      error: expect.stringContaining("401"),
    });
    await check("a folder for it", ["map", "/prod/web"], { error: expect.stringContaining("401") });
    child.stdin.end();
    await once(child, "close");
    for (const [step, result, wanted] of results) expect([step, result]).toMatchObject([step, wanted]);
    recordFigure({
      claim: "client 7",
      text: `External Secrets Operator 0.20.4: ${results.length} of ${results.length} reads, rotations and refusals`,
      counted: { reached: results.length, needed: 11 },
    });
  },
);
