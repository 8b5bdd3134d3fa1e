import { Session } from "node:inspector/promises";
import { recordFigure } from "@hearth-and-keep/figures";
import { startModelRegistry, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { smol, startTestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { openVault } from "../../apps/keep/src/test/open-vault.ts";
import { seedRegistry } from "../../conformance/transfers/seed-registry.ts";

/** Product files executed per journey before the structure was simplified, measured in the same way. */
const filesBefore = { chat: 57, pull: 90, write: 53, read: 46 } as const;

type Journey = keyof typeof filesBefore;

type Program = "hearth" | "keep";

/**
 * Counts the product files of which a function runs every time a journey is repeated: neither loading modules nor the
 * timers of a server count.
 */
async function openCoverage() {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  const executed = async (program: Program): Promise<ReadonlySet<string>> => {
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const scripts = result.filter(({ url, functions }) => isPartOf(program, url) && functions.some(hasRun));
    return new Set(scripts.map(({ url }) => url));
  };
  return async (program: Program, journey: () => Promise<unknown>, runs = 20): Promise<number> => {
    const sets: ReadonlySet<string>[] = [];
    for (let run = 0; run < runs; run += 1) {
      await executed(program);
      await journey();
      sets.push(await executed(program));
    }
    return sets.reduce((common, files) => common.intersection(files)).size;
  };
}

/** What checks the message that a worker sends every second, and the clock that waits for it. */
const betweenRequests = /\/(?:running-clock|channel\/schema)\.ts$/u;

/** Both programs run in this process, so that timers of the other one must not count. */
function isPartOf(program: Program, url: string): boolean {
  const own =
    program === "hearth"
      ? /\/(?:apps\/hearth|packages\/[^/]+)\/src\//u
      : /\/(?:apps\/keep|packages\/[^/]+)\/src\//u;
  const foreign =
    program === "hearth"
      ? /\/(?:audit-chain|audit-records|transparency-log|envelope-crypto)\//u
      : /\/(?:llama-engine|engine-host)\//u;
  if (betweenRequests.test(url)) return false;
  return own.test(url) && !foreign.test(url) && !/\/test\/|test-servers|\/figures\/|node_modules/u.test(url);
}

function hasRun(called: {
  readonly functionName: string;
  readonly ranges: readonly { readonly count: number }[];
}): boolean {
  return called.functionName !== "" && (called.ranges[0]?.count ?? 0) > 0;
}

test("a chat, a pull, a secret write and a value read execute fewer files than before", {
  timeout: 300_000,
}, async () => {
  const measure = await openCoverage();
  await using registry = await startModelRegistry();
  await seedRegistry(registry, { repository: "team/tiny", file: await testModel("tiny-llama.gguf") });
  await using server = await startTestServer({ models: { smol }, privateRegistries: ["127.0.0.1"] });
  await using vault = await openVault();
  const post = async (path: string, body: unknown): Promise<void> => {
    const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(body) });
    const text = await response.text();
    expect(response.status, text).toBe(200);
  };
  const messages = [{ role: "user", content: "Say hello." }];
  const chat = () => post("/v1/chat/completions", { model: "smol", stream: true, max_tokens: 8, messages });
  const pull = () => post("/api/pull", { model: `${new URL(registry.url).host}/team/tiny`, insecure: true });
  const read = () => vault.json("GET", "/values/by-path/A");
  const counts: Record<Journey, number> = { chat: 0, pull: 0, write: 0, read: 0 };
  // Before a model is loaded, because its worker sends a message every second; a second pull would find its files.
  counts.pull = await measure("hearth", pull, 1);
  await chat();
  counts.chat = await measure("hearth", chat);
  await vault.write("/A", "1");
  counts.write = await measure("keep", () => vault.write("/A", "2"));
  await read();
  counts.read = await measure("keep", read);
  const journeys = Object.keys(filesBefore) as Journey[]; // the keys of the literal above
  recordFigure({
    claim: "plain 5",
    text: journeys.map((name) => `${name} ${counts[name]} of ${filesBefore[name]} before`).join(", "),
    counted: {
      reached: journeys.filter((name) => counts[name] < filesBefore[name]).length,
      needed: journeys.length,
    },
  });
  for (const name of journeys) {
    expect(counts[name], name).toBeGreaterThan(10);
    expect(counts[name], name).toBeLessThan(filesBefore[name]);
  }
});
