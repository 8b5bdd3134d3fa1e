import { once } from "node:events";
import { createServer } from "node:http";
import { recordFigure } from "@hearth-and-keep/figures";
import { startModelRegistry, testModel } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { smol, startTestServer, type TestServer } from "../../apps/hearth/src/test/start-test-server.ts";
import { fillRegistry } from "./fill-registry.ts";

type Status = { status?: string; digest?: string; total?: number; completed?: number; error?: string };

const fronts = ["plain", "token", "redirecting"] as const;
const smolFile = "smollm2-135m-instruct-q4_1.gguf";

test.for(fronts)(
  "a model pulled from a registry answers a chat (%s)",
  { timeout: 120_000 },
  async (front) => {
    await using stack = new AsyncDisposableStack();
    const authentication = front === "token" ? "token" : "open";
    const registry = stack.use(await startModelRegistry({ authentication }));
    await fillRegistry(registry, { repository: "team/smol", file: await testModel(smolFile) });
    const address =
      front === "redirecting" ? stack.use(await startRedirecting(registry.url)).url : registry.url;
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
    recordFigure({ claim: "store 1", text: `pulled and answered: ${front}` });
  },
);

test.for(["open", "token"] as const)(
  "a model created on one server and pushed is pulled by another, where it answers a chat (%s)",
  { timeout: 120_000 },
  async (authentication) => {
    await using registry = await startModelRegistry({ authentication });
    const { host } = new URL(registry.url);
    const { account } = registry;
    const credentials = {
      forHost: (asked: string) => (asked === host ? ({ kind: "basic", ...account } as const) : undefined),
    };
    const privateRegistries = ["127.0.0.1"];
    await using maker = await startTestServer({ models: { smol }, privateRegistries, credentials });
    await using taker = await startTestServer({ models: {}, privateRegistries });
    const model = `${host}/team/smol:terse`;
    const system = "You answer with one word.";
    await post(maker, "/api/create", { model, from: "smol", system, stream: false });

    const statuses = await progress(maker, "/api/push", { name: model, insecure: true });

    expect(statuses[0]).toEqual({ status: "retrieving manifest" });
    expect(statuses.slice(-2)).toEqual([{ status: "pushing manifest" }, { status: "success" }]);
    for (const { status, digest = "", total, completed } of statuses.slice(1, -2)) {
      expect(status).toBe(`pushing ${digest.slice("sha256:".length, "sha256:".length + 12)}`);
      expect(completed ?? 0).toBeLessThanOrEqual(total ?? 0);
    }
    const again = await progress(maker, "/api/push", { model, insecure: true });
    expect(again.filter(({ completed, total }) => completed === total && total !== undefined)).not.toEqual(
      [],
    );
    expect((await pull(taker, { name: model, insecure: true, stream: true })).at(-1)).toEqual({
      status: "success",
    });
    expect(await chat(taker, model)).toMatch(/Paris/u);
    // The shape of show.
    const shown = (await (await post(taker, "/api/show", { model })).json()) as { system: string };
    expect(shown.system).toBe(system);
    // Without the account's password nobody may push where tokens are asked for.
    const anonymous = await progress(taker, "/api/push", { model, insecure: true });
    const refusal = expect.stringContaining("status 401");
    expect(anonymous.at(-1)).toEqual(authentication === "token" ? { error: refusal } : { status: "success" });
    recordFigure({ claim: "store 1", text: `created, pushed, pulled and answered: ${authentication}` });
  },
);

test("a model that a registry does not have is told as clients expect it, and the same way when not streamed", async () => {
  await using registry = await startModelRegistry();
  await using hearth = await startTestServer({ models: {}, privateRegistries: [new URL(registry.url).host] });
  const model = `${new URL(registry.url).host}/team/none:latest`;
  const error = "pull model manifest: file does not exist";
  expect(await pull(hearth, { model, insecure: true })).toEqual([{ status: "pulling manifest" }, { error }]);
  const whole = await post(hearth, "/api/pull", { model, insecure: true, stream: false });
  expect([whole.status, await whole.json()]).toEqual([500, { error }]);
});

test("a private registry that the settings do not list is not called", async () => {
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
  const answer = await post(hearth, path, body);
  expect(answer.headers.get("content-type")).toBe("application/x-ndjson");
  const lines = (await answer.text()).trimEnd().split("\n");
  return lines.map((line): Status => JSON.parse(line));
}

async function chat(hearth: TestServer, model: string): Promise<string> {
  const answer = await post(hearth, "/api/chat", {
    model,
    stream: false,
    messages: [{ role: "user", content: "What is the capital of France? Answer with one word." }],
    options: { num_predict: 12, temperature: 0, seed: 1 },
  });
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  // The shape of a chat.
  return (JSON.parse(text) as { message: { content: string } }).message.content;
}

/** Passes manifests on, and sends whoever asks for a blob to the registry under another name. */
async function startRedirecting(registry: string): Promise<AsyncDisposable & { readonly url: string }> {
  const { port: registryPort } = new URL(registry);
  const server = createServer((request, response) => {
    if (request.url?.includes("/blobs/") === true) {
      const location = `http://localhost:${registryPort}${request.url}`;
      response.writeHead(307, { location }).end();
      return;
    }
    void fetch(`${registry}${request.url}`, { headers: { accept: request.headers.accept ?? "*/*" } }).then(
      async (answer) => response.writeHead(answer.status).end(await answer.text()),
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
