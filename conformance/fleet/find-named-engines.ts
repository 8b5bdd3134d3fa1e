import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeTemporaryFolder, startLlamaServer, testModel } from "@hearth-and-keep/test-servers";
import { type FakeNames, serveFakeNames } from "../../apps/hearth/src/models/registry/test/fake-dns.ts";
import { serveHearth } from "../terminal/run-hearth.ts";

/** One observation: the engines that the program knows by the name, and the status of a request. */
export type NamedMoment = {
  readonly when: string;
  readonly engines: readonly string[];
  readonly status: number;
};

const name = "engines.test.example";
const [first, second, third] = ["203.0.114.10", "203.0.114.20", "203.0.114.30"] as const;
/** Longer than the interval at which a name is resolved again. */
const afterResolutionMilliseconds = 5000;
const maxMilliseconds = 15_000;

/**
 * Runs the program with a model behind a DNS name, in a network where every address is this machine and a fake DNS
 * server resolves names. Prints the state after each change.
 */
async function findNamedEngines(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const names: FakeNames = new Map();
  const nameServer = stack.use(await serveFakeNames(names));
  const engine = stack.use(
    await startLlamaServer({ model: await testModel("tiny-llama.gguf"), host: "0.0.0.0" }),
  );
  const { port } = new URL(engine.url);
  const folder = stack.use(await makeTemporaryFolder("named-engines"));
  const file = join(folder.path, "engines.toml");
  await writeFile(
    file,
    `[models.far]\ndialect = "llama-server"\ndiscover = { dns = "http://${name}:${port}" }\n`,
  );
  const hearth = stack.use(
    await serveHearth(["--engines-file", file], { HOME: folder.path, HEARTH_MODELS: folder.path }),
  );
  const moments: NamedMoment[] = [];
  const observe = async (when: string, expected: readonly string[]): Promise<void> => {
    const engines = await enginesOf(hearth.url, expected);
    // Without an engine, a request would wait.
    const status = engines.length === 0 ? 0 : await sendRequest(hearth.url);
    moments.push({ when, engines, status });
  };
  await observe("unknown", []);
  names.set(name, [[first, second]]);
  await observe("appeared", [first, second]);
  names.set(name, [[second]]);
  await observe("one gone", [second]);
  names.set(name, [[second, third]]);
  await observe("another came", [second, third]);
  names.delete(name);
  await sleep(afterResolutionMilliseconds);
  await observe("name gone", [second, third]);
  await nameServer[Symbol.asyncDispose]();
  await sleep(afterResolutionMilliseconds);
  await observe("name server gone", [second, third]);
  process.stdout.write(JSON.stringify(moments));
}

/** The engines' labels in the metrics, without ports, once they are as expected or time is up. */
async function enginesOf(url: string, expected: readonly string[]): Promise<readonly string[]> {
  const deadline = Date.now() + maxMilliseconds;
  for (;;) {
    const text = await (await fetch(`${url}/metrics`)).text();
    const lines = text.matchAll(/^hearth_pool_requests\{.*engine="([^":]+):\d+"/gmu);
    const engines = [...lines].map(([, host = ""]) => host).toSorted();
    if (engines.join() === expected.join() || Date.now() > deadline) return engines;
    await sleep(100);
  }
}

async function sendRequest(url: string): Promise<number> {
  const body = { model: "far", messages: [{ role: "user", content: "Hi" }], max_tokens: 2 };
  const response = await fetch(`${url}/v1/chat/completions`, { method: "POST", body: JSON.stringify(body) });
  await response.text();
  return response.status;
}

await findNamedEngines();
