import { once } from "node:events";
import { createServer } from "node:http";
import { recordFigure } from "@hearth-and-keep/figures";
import { startModelRegistry, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { seedRegistry } from "./seed-registry.ts";

type Status = { status?: string; digest?: string; total?: number; completed?: number; error?: string };

const fronts = ["plain", "token", "redirecting"] as const;
const smolFile = "smollm2-135m-instruct-q4_1.gguf";

test.for(fronts)("a model pulled from a registry can chat (%s)", { timeout: 120_000 }, async (front) => {
  await using stack = new AsyncDisposableStack();
  const authentication = front === "token" ? "token" : "open";
  const registry = stack.use(await startModelRegistry({ authentication }));
  await seedRegistry(registry, { repository: "team/smol", file: await testModel(smolFile) });
  const address =
    front === "redirecting" ? stack.use(await startRedirectingProxy(registry.url)).url : registry.url;
  const hearth = stack.use(
    await startTestServer({ models: {}, privateRegistries: ["127.0.0.1", "localhost"] }),
  );
  const name = `${new URL(address).host}/team/smol:latest`;

  const statuses = await pull(hearth, { name, insecure: true, stream: true });

  expect(statuses[0]).toEqual({ status: "pulling manifest" });
  expect(statuses.slice(-3).map(({ status }) => status)).toEqual([
    "verifying sha256 digest",
    "writing manifest",
    "success",
  ]);
  for (const { status, digest = "", total, completed } of statuses.slice(1, -3)) {
    expect(status).toBe(`pulling ${digest.slice("sha256:".length, "sha256:".length + 12)}`);
    expect(completed ?? 0).toBeLessThanOrEqual(total ?? 0);
  }
  expect(await chat(hearth, name)).toMatch(/Paris/u);
  recordFigure({ claim: "store 1", text: `pulled and chatted: ${front}` });
});

test.for(["open", "token"] as const)(
  "a model created and pushed by one server can be pulled by another and chat there (%s)",
  { timeout: 120_000 },
  async (authentication) => {
    await using registry = await startModelRegistry({ authentication });
    const { host } = new URL(registry.url);
    const { account } = registry;
    const credentials = {
      forHost: (requested: string) =>
        requested === host ? ({ kind: "basic", ...account } as const) : undefined,
    };
    const privateRegistries = ["127.0.0.1"];
    await using publisher = await startTestServer({ models: { smol }, privateRegistries, credentials });
    await using consumer = await startTestServer({ models: {}, privateRegistries });
    const model = `${host}/team/smol:terse`;
    const system = "You answer with one word.";
    await post(publisher, "/api/create", { model, from: "smol", system, stream: false });

    const statuses = await progress(publisher, "/api/push", { name: model, insecure: true });

    expect(statuses[0]).toEqual({ status: "retrieving manifest" });
    expect(statuses.slice(-2)).toEqual([{ status: "pushing manifest" }, { status: "success" }]);
    for (const { status, digest = "", total, completed } of statuses.slice(1, -2)) {
      expect(status).toBe(`pushing ${digest.slice("sha256:".length, "sha256:".length + 12)}`);
      expect(completed ?? 0).toBeLessThanOrEqual(total ?? 0);
    }
    const again = await progress(publisher, "/api/push", { model, insecure: true });
    expect(again.filter(({ completed, total }) => completed === total && total !== undefined)).not.toEqual(
      [],
    );
    expect((await pull(consumer, { name: model, insecure: true, stream: true })).at(-1)).toEqual({
      status: "success",
    });
    expect(await chat(consumer, model)).toMatch(/Paris/u);
    // The part of the response that the test reads.
    const shown = (await (await post(consumer, "/api/show", { model })).json()) as { system: string };
    expect(shown.system).toBe(system);
    // Pushing without the password fails where a token is required.
    const anonymous = await progress(consumer, "/api/push", { model, insecure: true });
    const rejected = {
      error: expect.stringContaining("status 401"),
      code: "registry-refused",
      host: new URL(registry.url).host,
    };
    expect(anonymous.at(-1)).toEqual(authentication === "token" ? rejected : { status: "success" });
    recordFigure({ claim: "store 1", text: `created, pushed, pulled and chatted: ${authentication}` });
  },
);

test("a model that is not in the registry gives Ollama's error text, streamed or not", async () => {
  await using registry = await startModelRegistry();
  await using hearth = await startTestServer({ models: {}, privateRegistries: [new URL(registry.url).host] });
  const model = `${new URL(registry.url).host}/team/none:latest`;
  const failed = {
    error: "pull model manifest: file does not exist",
    code: "remote-model-not-found",
    model: expect.stringContaining("team/none"),
  };
  expect(await pull(hearth, { model, insecure: true })).toEqual([{ status: "pulling manifest" }, failed]);
  const unstreamed = await post(hearth, "/api/pull", { model, insecure: true, stream: false });
  expect([unstreamed.status, await unstreamed.json()]).toEqual([500, failed]);
});

test("a private registry that is not listed in the settings is not contacted", async () => {
  await using registry = await startModelRegistry();
  await using hearth = await startTestServer({ models: {} });
  const model = `${new URL(registry.url).host}/team/smol`;
  const statuses = await pull(hearth, { model, insecure: true });
  expect(statuses.at(-1)?.error).toMatch(/--private-registries/u);
});

function post({ url }: TestServer, path: string, body: unknown): Promise<Response> {
  return fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body) });
}

function pull(hearth: TestServer, body: unknown): Promise<readonly Status[]> {
  return progress(hearth, "/api/pull", body);
}

async function progress(hearth: TestServer, path: string, body: unknown): Promise<readonly Status[]> {
  const response = await post(hearth, path, body);
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  const lines = (await response.text()).trimEnd().split("\n");
  return lines.map((line): Status => JSON.parse(line));
}

async function chat(hearth: TestServer, model: string): Promise<string> {
  const response = await post(hearth, "/api/chat", {
    model,
    stream: false,
    messages: [{ role: "user", content: "What is the capital of France? Answer with one word." }],
    options: { num_predict: 12, temperature: 0, seed: 1 },
  });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  // The part of the response that the test reads.
  return (JSON.parse(text) as { message: { content: string } }).message.content;
}

/** Forwards manifests, and redirects requests for blobs to the registry under another host name. */
async function startRedirectingProxy(registry: string): Promise<AsyncDisposable & { readonly url: string }> {
  const { port: registryPort } = new URL(registry);
  const server = createServer((request, response) => {
    if (request.url?.includes("/blobs/") === true) {
      const location = `http://localhost:${registryPort}${request.url}`;
      response.writeHead(307, { location }).end();
      return;
    }
    void fetch(`${registry}${request.url}`, { headers: { accept: request.headers.accept ?? "*/*" } }).then(
      async (upstream) => response.writeHead(upstream.status).end(await upstream.text()),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
