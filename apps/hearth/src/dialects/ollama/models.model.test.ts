import { describe, expect, test } from "vitest";
import { minilm, smol, startTestServer, tiny } from "../../test/start-test-server.ts";
import { fakeOutput, getRequest, keysOf, recorded, sendRequest } from "./test/send-request.ts";

const prompt = "What is 2+2?";
const stored = {
  ...smol,
  extras: {
    template: "{{ range .Messages }}{{ .Role }}\n{{ .Content }}\n{{ end }}",
    system: "You are terse.",
    licenses: ["Apache-2.0"],
    parameters: { temperature: 0.3, stop: ["###", "<|im_end|>"], num_ctx: 2048 },
    messages: [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hello." },
    ],
  },
} as const;

describe("tags", () => {
  test("lists every model with the recorded fields, with times in UTC", async () => {
    const limits = { contextTokens: undefined };
    await using server = await startTestServer({ models: { smol: smol, "team/tiny:small": tiny }, limits });
    const { last, headers } = await getRequest(server, "/api/tags");
    expect(headers.get("content-type")).toBe(recorded.tags.content_type);
    const { models } = last as { models: { name: string; digest: string; modified_at: string }[] }; // The shape of tags.
    expect(models.map(({ name }) => name).toSorted()).toEqual(["smol:latest", "team/tiny:small"]);
    const ofSmol = models.find(({ name }) => name === "smol:latest");
    expect(keysOf(ofSmol)).toEqual(keysOf(recorded.tags.body.models[0]));
    expect(ofSmol).toMatchObject({ model: "smol:latest", details: recorded.tags.body.models[0]?.details });
    expect(ofSmol?.digest).toMatch(/^[0-9a-f]{64}$/u);
    expect(ofSmol?.modified_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/u);
  });

  test("and ps return empty lists for an empty store", async () => {
    await using server = await startTestServer({ models: {}, script: fakeOutput() });
    expect((await getRequest(server, "/api/tags")).last).toEqual({ models: [] });
    expect((await getRequest(server, "/api/ps")).last).toEqual({ models: [] });
  });
});

describe("ps", () => {
  test("lists loaded models with the recorded fields, the last to expire first", async () => {
    await using server = await startTestServer({ models: { tiny, minilm }, script: fakeOutput("4") });
    await sendRequest(server, "/api/generate", { model: "tiny", prompt, keep_alive: "10m" });
    await sendRequest(server, "/api/embed", { model: "minilm", input: "a", keep_alive: -1 });
    const { models } = (await getRequest(server, "/api/ps")).last as { models: Record<string, string>[] }; // The shape of ps.
    expect(models.map(({ name }) => name)).toEqual(["minilm:latest", "tiny:latest"]);
    const {
      loaded_context_length: loaded,
      size_weights: weights,
      size_cache: cache,
      ...first
    } = models[0] ?? {};
    expect(loaded).toBe(512);
    expect([weights, cache].map(Number).every((bytes) => bytes > 0)).toBe(true);
    expect(keysOf(first)).toEqual(keysOf(recorded["ps loaded"].body.models[0]));
    const years = models.map(({ expires_at = "" }) => (Date.parse(expires_at) - Date.now()) / 31_557_600_000);
    expect(Math.round(years[0] ?? 0)).toBe(292);
    expect((years[1] ?? 0) * 31_557_600).toBeCloseTo(600, -1);
  });
});

describe("show", () => {
  test("returns all layers of a model in the recorded fields and texts", async () => {
    await using server = await startTestServer({ models: { "team/smol:small": stored } });
    const { last } = await sendRequest(server, "/api/show", { model: "team/smol:small" });
    const original = recorded["show with layers"].body;
    expect(keysOf(last)).toEqual(keysOf(original));
    for (const key of [
      "license",
      "parameters",
      "system",
      "messages",
      "model_info",
      "capabilities",
    ] as const) {
      expect(last[key]).toEqual(original[key]);
    }
    expect(Object.keys(Object(last["model_info"]))).toEqual(Object.keys(original.model_info));
    expect(last["template"]).toBe(stored.extras.template);
    expect(last["tensors"]).toContainEqual(original.tensors[0]);
    expect(last["modelfile"]).toContain("\nFROM team/smol:small\n");
    const rest = original.modelfile.slice(original.modelfile.indexOf("SYSTEM "));
    expect(last["modelfile"]).toMatch(/PARAMETER stop ###\nPARAMETER stop <\|im_end\|>\n/u);
    expect(String(last["modelfile"]).endsWith(rest)).toBe(true);
    expect(JSON.stringify(last)).not.toContain("/blobs/");
    const byName = await sendRequest(server, "/api/show", { name: "team/smol:small" });
    expect(byName.last).toEqual(last);
  });

  test("returns model_info for every model, because clients fail without it, and lists only if verbose", async () => {
    await using server = await startTestServer({ models: { tiny, minilm } });
    for (const model of ["tiny", "minilm"]) {
      const { last } = await sendRequest(server, "/api/show", { model });
      const { model_info: facts } = last as { model_info: Record<string, unknown> }; // The shape of show.
      expect(facts[`${String(facts["general.architecture"])}.context_length`]).toBeGreaterThan(0);
      expect(facts["tokenizer.ggml.tokens"]).toBeNull();
      expect(facts).not.toHaveProperty("tokenizer.chat_template");
      expect(facts).not.toHaveProperty("general.name");
    }
    const verbose = await sendRequest(server, "/api/show", { model: "tiny", verbose: true });
    expect(verbose.last).toMatchObject({ model_info: { "tokenizer.ggml.tokens": expect.any(Array) } });
  });

  test("returns the version, model, basename, context and tools that VS Code's chat reads", async () => {
    await using server = await startTestServer({ models: { tiny } });
    const agent = { "user-agent": "GitHubCopilotChat/0.30.0" };
    const { version } = (await getRequest(server, "/api/version", agent)).last as { version: string }; // The shape of version.
    const [major = 0, minor = 0, patch = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
    expect(major * 1e6 + minor * 1e3 + patch).toBeGreaterThanOrEqual(6004);
    expect((await getRequest(server, "/api/tags", agent)).last).toMatchObject({
      models: [{ model: "tiny:latest" }],
    });
    const shown = await sendRequest(server, { path: "/api/show", headers: agent }, { model: "tiny:latest" });
    expect(shown.last).toMatchObject({
      model_info: { "general.basename": "tiny:latest", "general.architecture": "llama" },
      capabilities: expect.arrayContaining(["tools"]),
    });
    const other = await sendRequest(server, "/api/show", { model: "tiny:latest" });
    expect(other.last).not.toMatchObject({ model_info: { "general.basename": "tiny:latest" } });
  });
});

describe("copy and delete", () => {
  test("a copy returns an empty 200, and each name can be deleted with model or name", async () => {
    await using server = await startTestServer({ models: { tiny }, script: fakeOutput("4") });
    const copied = await sendRequest(server, "/api/copy", { source: "tiny", destination: "mine:v1" });
    expect([copied.status, copied.text]).toEqual([200, ""]);
    expect((await sendRequest(server, "/api/show", { model: "mine:v1" })).status).toBe(200);
    const deleted = await sendRequest(server, { path: "/api/delete", method: "DELETE" }, { name: "mine:v1" });
    expect([deleted.status, deleted.text]).toEqual([200, ""]);
    expect((await sendRequest(server, "/api/delete", { model: "tiny" })).status).toBe(200);
    expect((await getRequest(server, "/api/tags")).last).toEqual({ models: [] });
  });

  test("a deleted model is unloaded, unless another name still points to it", async () => {
    await using server = await startTestServer({ models: { tiny } });
    await sendRequest(server, "/api/copy", { source: "tiny", destination: "mine" });
    await sendRequest(server, "/api/generate", { model: "tiny", keep_alive: -1 });
    await sendRequest(server, { path: "/api/delete", method: "DELETE" }, { model: "mine" });
    expect(server.scheduler.running()).toHaveLength(1);
    await sendRequest(server, { path: "/api/delete", method: "DELETE" }, { model: "tiny:latest" });
    expect((await getRequest(server, "/api/ps")).last).toEqual({ models: [] });
  }, 60_000);

  test.each([
    ["created again", "/api/create", { model: "tiny", from: "tiny", system: "Be terse." }],
    ["copied over", "/api/copy", { source: "smol", destination: "tiny" }],
  ])("a model whose name was %s is unloaded, unless another name points to it", async (_, path, body) => {
    await using server = await startTestServer({ models: { tiny, smol }, script: fakeOutput("4") });
    await sendRequest(server, "/api/generate", { model: "tiny", keep_alive: -1 });
    await sendRequest(server, "/api/copy", { source: "tiny", destination: "kept" });
    await sendRequest(server, path, body);
    expect(server.scheduler.running()).toHaveLength(1);
    await sendRequest(server, "/api/copy", { source: "tiny", destination: "kept" });
    await expect.poll(() => server.scheduler.running()).toEqual([]);
  });

  test("an unknown model is reported by name", async () => {
    await using server = await startTestServer({ models: { tiny }, script: fakeOutput("4") });
    const gone = { model: "nope" };
    expect(await sendRequest(server, { path: "/api/delete", method: "DELETE" }, gone)).toMatchObject({
      status: 404,
      last: { error: "model 'nope' not found", code: "model-not-found", model: "nope" },
    });
    expect(await sendRequest(server, "/api/copy", { source: "nope", destination: "x" })).toMatchObject({
      status: 404,
      last: { error: 'model "nope" not found', code: "model-not-found", model: "nope" },
    });
    expect(
      await sendRequest(server, "/api/copy", { source: "tiny", destination: "a/b/c/d/e::" }),
    ).toMatchObject({
      status: 400,
      last: { error: "invalid model name", code: "name-invalid" },
    });
    expect(await sendRequest(server, "/api/show", gone)).toMatchObject({ status: 404 });
    expect(await sendRequest(server, "/api/show", {})).toMatchObject({
      status: 400,
      last: { error: "model is required", code: "request-invalid" },
    });
  });
});
