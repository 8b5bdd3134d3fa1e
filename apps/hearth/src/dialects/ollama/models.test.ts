import { describe, expect, test } from "vitest";
import { minilm, smol, startTestServer, tiny } from "../../test/start-test-server.ts";
import { ask, keysOf, look, recorded, saying } from "./test/ask.ts";

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
  test("lists every model with the recorded fields, and its time in UTC", async () => {
    await using server = await startTestServer({ models: { smol: smol, "team/tiny:small": tiny } });
    const { last, headers } = await look(server, "/api/tags");
    expect(headers.get("content-type")).toBe(recorded.tags.content_type);
    const { models } = last as { models: { name: string; digest: string; modified_at: string }[] }; // The shape of tags.
    expect(models.map(({ name }) => name).toSorted()).toEqual(["smol:latest", "team/tiny:small"]);
    const ofSmol = models.find(({ name }) => name === "smol:latest");
    expect(keysOf(ofSmol)).toEqual(keysOf(recorded.tags.body.models[0]));
    expect(ofSmol).toMatchObject({ model: "smol:latest", details: recorded.tags.body.models[0]?.details });
    expect(ofSmol?.digest).toMatch(/^[0-9a-f]{64}$/u);
    expect(ofSmol?.modified_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/u);
  });

  test("and ps of an empty store are empty lists", async () => {
    await using server = await startTestServer({ models: {}, script: saying() });
    expect((await look(server, "/api/tags")).last).toEqual({ models: [] });
    expect((await look(server, "/api/ps")).last).toEqual({ models: [] });
  });
});

describe("ps", () => {
  test("shows what is loaded with the recorded fields, the one that stays longest first", async () => {
    await using server = await startTestServer({ models: { tiny, minilm }, script: saying("4") });
    await ask(server, "/api/generate", { model: "tiny", prompt, keep_alive: "10m" });
    await ask(server, "/api/embed", { model: "minilm", input: "a", keep_alive: -1 });
    const { models } = (await look(server, "/api/ps")).last as { models: Record<string, string>[] }; // The shape of ps.
    expect(models.map(({ name }) => name)).toEqual(["minilm:latest", "tiny:latest"]);
    expect(keysOf(models[0])).toEqual(keysOf(recorded["ps loaded"].body.models[0]));
    const years = models.map(({ expires_at = "" }) => (Date.parse(expires_at) - Date.now()) / 31_557_600_000);
    expect(Math.round(years[0] ?? 0)).toBe(292);
    expect((years[1] ?? 0) * 31_557_600).toBeCloseTo(600, -1);
  });
});

describe("show", () => {
  test("tells a model with all its layers in the recorded fields and texts", async () => {
    await using server = await startTestServer({ models: { "team/smol:small": stored } });
    const { last } = await ask(server, "/api/show", { model: "team/smol:small" });
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
    const byName = await ask(server, "/api/show", { name: "team/smol:small" });
    expect(byName.last).toEqual(last);
  });

  test("without model_info breaks clients, so it is there for every model, and lists come only when verbose", async () => {
    await using server = await startTestServer({ models: { tiny, minilm } });
    for (const model of ["tiny", "minilm"]) {
      const { last } = await ask(server, "/api/show", { model });
      const { model_info: facts } = last as { model_info: Record<string, unknown> }; // The shape of show.
      expect(facts[`${String(facts["general.architecture"])}.context_length`]).toBeGreaterThan(0);
      expect(facts["tokenizer.ggml.tokens"]).toBeNull();
      expect(facts).not.toHaveProperty("tokenizer.chat_template");
      expect(facts).not.toHaveProperty("general.name");
    }
    const verbose = await ask(server, "/api/show", { model: "tiny", verbose: true });
    expect(verbose.last).toMatchObject({ model_info: { "tokenizer.ggml.tokens": expect.any(Array) } });
  });

  test("VS Code's chat finds version, model, basename, context and tools on its way", async () => {
    await using server = await startTestServer({ models: { tiny } });
    const agent = { "user-agent": "GitHubCopilotChat/0.30.0" };
    const { version } = (await look(server, "/api/version", agent)).last as { version: string }; // The shape of version.
    const [major = 0, minor = 0, patch = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
    expect(major * 1e6 + minor * 1e3 + patch).toBeGreaterThanOrEqual(6004);
    expect((await look(server, "/api/tags", agent)).last).toMatchObject({
      models: [{ model: "tiny:latest" }],
    });
    const shown = await ask(server, { path: "/api/show", headers: agent }, { model: "tiny:latest" });
    expect(shown.last).toMatchObject({
      model_info: { "general.basename": "tiny:latest", "general.architecture": "llama" },
      capabilities: expect.arrayContaining(["tools"]),
    });
    const other = await ask(server, "/api/show", { model: "tiny:latest" });
    expect(other.last).not.toMatchObject({ model_info: { "general.basename": "tiny:latest" } });
  });
});

describe("copy and delete", () => {
  test("a copy is a second name, answered with an empty 200, and each can be deleted by model or name", async () => {
    await using server = await startTestServer({ models: { tiny }, script: saying("4") });
    const copied = await ask(server, "/api/copy", { source: "tiny", destination: "mine:v1" });
    expect([copied.status, copied.text]).toEqual([200, ""]);
    expect((await ask(server, "/api/show", { model: "mine:v1" })).status).toBe(200);
    const deleted = await ask(server, { path: "/api/delete", method: "DELETE" }, { name: "mine:v1" });
    expect([deleted.status, deleted.text]).toEqual([200, ""]);
    expect((await ask(server, "/api/delete", { model: "tiny" })).status).toBe(200);
    expect((await look(server, "/api/tags")).last).toEqual({ models: [] });
  });

  test("a deleted model leaves the memory, but not while another name still has it", async () => {
    await using server = await startTestServer({ models: { tiny } });
    await ask(server, "/api/copy", { source: "tiny", destination: "mine" });
    await ask(server, "/api/generate", { model: "tiny", keep_alive: -1 });
    await ask(server, { path: "/api/delete", method: "DELETE" }, { model: "mine" });
    expect(server.scheduler.running()).toHaveLength(1);
    await ask(server, { path: "/api/delete", method: "DELETE" }, { model: "tiny:latest" });
    expect((await look(server, "/api/ps")).last).toEqual({ models: [] });
  }, 60_000);

  test.each([
    ["made anew", "/api/create", { model: "tiny", from: "tiny", system: "Be terse." }],
    ["copied over", "/api/copy", { source: "smol", destination: "tiny" }],
  ])(
    "a model whose name was %s leaves the memory, but not while another name has it",
    async (_, path, body) => {
      await using server = await startTestServer({ models: { tiny, smol }, script: saying("4") });
      await ask(server, "/api/generate", { model: "tiny", keep_alive: -1 });
      await ask(server, "/api/copy", { source: "tiny", destination: "kept" });
      await ask(server, path, body);
      expect(server.scheduler.running()).toHaveLength(1);
      await ask(server, "/api/copy", { source: "tiny", destination: "kept" });
      await expect.poll(() => server.scheduler.running()).toEqual([]);
    },
  );

  test("what is not there is told by its name", async () => {
    await using server = await startTestServer({ models: { tiny }, script: saying("4") });
    const gone = { model: "nope" };
    expect(await ask(server, { path: "/api/delete", method: "DELETE" }, gone)).toMatchObject({
      status: 404,
      last: { error: "model 'nope' not found" },
    });
    expect(await ask(server, "/api/copy", { source: "nope", destination: "x" })).toMatchObject({
      status: 404,
      last: { error: 'model "nope" not found' },
    });
    expect(await ask(server, "/api/copy", { source: "tiny", destination: "a/b/c/d/e::" })).toMatchObject({
      status: 400,
      last: { error: "invalid model name" },
    });
    expect(await ask(server, "/api/show", gone)).toMatchObject({ status: 404 });
    expect(await ask(server, "/api/show", {})).toMatchObject({
      status: 400,
      last: { error: "model is required" },
    });
  });
});
