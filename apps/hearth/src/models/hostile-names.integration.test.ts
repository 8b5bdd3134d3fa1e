import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createCatalog } from "./catalog.ts";
import { findBlob } from "./store/blob-store.ts";
import { parseDigest, tryParseDigest } from "./store/digest.ts";
import { openModelStore } from "./store/model-store.ts";
import { listFiles } from "./test/stores.ts";

const hex = "ab".repeat(32);
const almostDigests = [
  ...["", "/", "/..", "/../canary", "\0", "\n", "0", " ", "-partial", ".."].map(
    (ending) => `sha256-${hex}${ending}`,
  ),
  ...["/", "/..", "/../canary", "\0", "\n", "0", " ", "-partial", ".."].map(
    (ending) => `sha256:${hex}${ending}`,
  ),
  `sha256:${hex.toUpperCase()}`,
];
const blob = { digest: `sha256:${hex}`, size: 4 };
const manifest = JSON.stringify({ schemaVersion: 2, config: null, layers: [blob] });

test("5,000 malicious names and digests reach nothing outside the store, and 500 valid ones work", async () => {
  await using folder = await makeTemporaryFolder("hostile");
  const root = join(folder.path, "store");
  const store = await openModelStore(root, "own");
  const catalog = createCatalog([store]);
  // A name that escapes its folder would find one of these canaries: a manifest to read or a file to delete.
  for (const canary of [
    "canary",
    "a/canary",
    "store/canary",
    "store/blobs/canary",
    "store/manifests/canary",
  ]) {
    await mkdir(join(folder.path, canary, ".."), { recursive: true });
    await writeFile(join(folder.path, canary), manifest);
  }
  await mkdir(join(root, "manifests/registry.ollama.ai/library/source"), { recursive: true });
  await writeFile(join(root, "manifests/registry.ollama.ai/library/source/latest"), manifest);
  const before = await listFiles(folder.path);
  const names = [...spellings(["canary", "a/canary", "blobs/canary", "etc/passwd"])].slice(0, 4000);
  const results: PromiseSettledResult<unknown>[] = [];
  for (const name of names) {
    const attempts = [
      catalog.describe(name),
      catalog.remove(name),
      catalog.copy(name, "b"),
      catalog.copy("source", name),
    ];
    results.push(...(await Promise.allSettled(attempts)));
  }
  expect(results.every((each) => each.status === "rejected" && each.reason instanceof FailureError)).toBe(
    true,
  );
  const inside = [...spellings(["canary", hex])].map((spelling) => `sha256:${spelling}`);
  const around = [...spellings([`sha256:${hex}`, `sha256-${hex}`])];
  const digests = [...inside.slice(0, 600), ...around.slice(0, 380), ...almostDigests];
  expect(digests.filter((digest) => tryParseDigest(digest) !== undefined)).toEqual([]);
  expect(await listFiles(folder.path)).toEqual(before);
  const valid = Array.from({ length: 500 }, (_, index) => `team-${index % 7}/Model_${index}:v${index}.x`);
  await writeFile(join(root, "blobs", `sha256-${hex}`), "good");
  expect((await findBlob([store], { digest: parseDigest(blob.digest) }))?.size).toBe(4);
  for (const name of valid) await catalog.copy("source", name);
  // A shared store, so that each removal does not read all other manifests.
  const shared = createCatalog([await openModelStore(root, "shared")]);
  for (const name of valid) expect((await shared.remove(name.toUpperCase())).name).toBe(name);
  const malicious = names.length + digests.length;
  expect(malicious).toBe(5000);
  const text = `${malicious} malicious names and digests reached nothing, ${valid.length} valid names worked`;
  recordFigure({ claim: "store 5", text, counted: { reached: malicious + valid.length, needed: 5500 } });
});

/** Every combination of a prefix, a target and a suffix; none of them is a valid name or digest. */
function* spellings(targets: readonly string[]): Generator<string> {
  const ups = [
    "../",
    "..\\",
    "./",
    "/",
    "//",
    "%2e%2e/",
    "..%2f",
    "..%5c",
    "~/",
    "....//",
    "\0",
    "\u2024\u2024/",
  ];
  const endings = [
    "",
    ":latest",
    ":../x",
    "/..",
    "/.",
    "\0",
    "@sha256:x",
    " ",
    "\n",
    "?",
    "#",
    ":a/b",
    "%00",
    "::",
  ];
  for (const count of [1, 2, 3, 4, 5, 6, 7, 8]) {
    for (const up of ups) {
      for (const ending of endings) {
        for (const target of targets) yield up.repeat(count) + target + ending;
      }
    }
  }
}
