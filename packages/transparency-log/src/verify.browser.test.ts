import { fileURLToPath } from "node:url";
import { startBrowser } from "@hearth-and-keep/test-servers";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";
import made from "./fixtures/made-by-go.json" with { type: "json" };

/** The package as one module for browsers. */
async function bundlePackage(): Promise<string> {
  const input = fileURLToPath(new URL("index.ts", import.meta.url));
  const bundle = await rolldown({ input, platform: "browser" });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  return output[0].code;
}

const html = `<script type="module">
  import * as log from "/log.js";
  globalThis.transparencyLog = log;
</script>`;

/** Runs in the page; counts what the package accepts there, as it is and with one record or size changed. */
async function verifyMade({ roots, inclusion, notes }: typeof made) {
  // Set by the module script above.
  const log = Reflect.get(globalThis, "transparencyLog") as typeof import("./index.ts");
  // oxlint-disable-next-line unicorn/consistent-function-scoping -- only this function is sent to the page
  const decode = (text: string) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const counts = { proofs: 0, alteredProofs: 0, checkpoints: 0, alteredCheckpoints: 0 };
  for (const { size, index, proof } of inclusion) {
    const root = decode(new Map(Object.entries(roots)).get(String(size)) ?? "");
    const claim = { index, size, root, proof: (proof ?? []).map(decode) };
    const verify = async (record: string) => {
      const leafHash = await log.hashLeaf(new TextEncoder().encode(record), log.webSha256);
      return log.verifyInclusion({ ...claim, leafHash });
    };
    if (await verify(`record ${index}`)) counts.proofs += 1;
    if (await verify(`recorD ${index}`)) counts.alteredProofs += 1;
  }
  for (const { keys: texts, note } of notes) {
    const keys = (await Promise.all(texts.map(log.parseVerifierKey))).filter((key) => key !== undefined);
    const trusted = { origin: "log.example/audit/0", keys };
    const checkpoint = await log.verifyCheckpoint(note, trusted);
    if (checkpoint?.cosignatures.length === keys.length - 1) counts.checkpoints += 1;
    const altered = note.replace(/\n\d/u, "\n9");
    if ((await log.verifyCheckpoint(altered, trusted)) !== undefined) counts.alteredCheckpoints += 1;
  }
  return counts;
}

test("a browser verifies proofs, checkpoints and cosignatures made by Go, and rejects altered ones", async () => {
  const code = await bundlePackage();
  expect(code).not.toContain("node:");
  await using browser = await startBrowser();
  const page = await (await browser.browser.newContext()).newPage();
  // An HTTPS address without a server: Web Crypto exists in secure contexts only.
  await page.route("**/*", (route) => {
    const isScript = route.request().url().endsWith(".js");
    return route.fulfill({
      contentType: isScript ? "text/javascript" : "text/html",
      body: isScript ? code : html,
    });
  });
  await page.goto("https://log.example/");
  expect(await page.evaluate(verifyMade, made)).toEqual({
    proofs: made.inclusion.length,
    alteredProofs: 0,
    checkpoints: made.notes.length,
    alteredCheckpoints: 0,
  });
});
