import { randomUUID } from "node:crypto";
import { startModelRegistry, testModel } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import { startTestServer, type TestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";
import { runHearth } from "../terminal/run-hearth.ts";
import { seedRegistry } from "../transfers/seed-registry.ts";
import { readModels } from "./remote-model.ts";

const zeros = `sha256:${"0".repeat(64)}`;
/** Two servers with the same local models; the gateway's engines file also has "far" and the registry's model. */
let [gateway, plain]: TestServer[] = [];
/** The name of the model in the registry. */
let registryModel: string;

beforeAll(async () => {
  const stack = new AsyncDisposableStack();
  const registry = stack.use(await startModelRegistry());
  await seedRegistry(registry, { repository: "team/held", file: await testModel("tiny-llama.gguf") });
  const { host } = new URL(registry.url);
  registryModel = `${host}/team/held`;
  const entry = 'addresses = ["http://127.0.0.1:9"]\n';
  const remote = await readModels(`[models.far]\n${entry}[models."${registryModel}"]\n${entry}`);
  const options = { models: { tiny }, privateRegistries: [host], script: () => [] };
  gateway = stack.use(await startTestServer({ ...options, remote }));
  plain = stack.use(await startTestServer(options));
  return () => stack.disposeAsync();
}, 120_000);

type Change = {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly method?: string;
};

async function change(server: TestServer | undefined, { path, body, method = "POST" }: Change) {
  const response = await fetch(`${server?.url}${path}`, {
    method,
    body: JSON.stringify({ stream: false, ...body }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
}

const namesOf = async (server: TestServer | undefined): Promise<readonly string[]> => {
  const text = await (await fetch(`${server?.url}/api/tags`)).text();
  // The response format of /api/tags.
  const { models } = JSON.parse(text) as { readonly models: readonly { readonly name: string }[] };
  return models.map(({ name }) => name).toSorted();
};

const create = (model: string, from: string): Change => ({ path: "/api/create", body: { model, from } });
const longName = "registry.ollama.ai/library/FAR:latest";
const copy = (source: string, destination: string): Change => ({
  path: "/api/copy",
  body: { source, destination },
});

test.each<[string, Change, string]>([
  ["created", create("far", "tiny"), "far"],
  ["created under any spelling", create(longName, "tiny"), longName],
  ["created with a digest in its name", create(`far@${zeros}`, "tiny"), `far@${zeros}`],
  ["the base of another model", create("near", "far"), "far"],
  ["the target of a copy", copy("tiny", "far"), "far"],
  ["the target of a copy with a digest", copy("tiny", `far@${zeros}`), `far@${zeros}`],
  ["copied", copy("far", "near"), "far"],
  ["pushed", { path: "/api/push", body: { model: "far" } }, "far"],
  ["deleted", { path: "/api/delete", method: "DELETE", body: { model: "far" } }, "far"],
  ["deleted by POST", { path: "/api/delete", body: { model: "far:latest" } }, "far:latest"],
])("a name in the engines file cannot be %s, and nothing changes", async (_title, request, name) => {
  const before = await namesOf(gateway);
  expect(await change(gateway, request)).toEqual({
    status: 400,
    body: {
      error: `cannot change model '${name}': it runs on a remote engine`,
      code: "model-on-remote-engine",
      model: name,
    },
  });
  expect(await namesOf(gateway)).toEqual(before);
});

test("a streaming request for such a name is rejected with status 400 too", async () => {
  const body = JSON.stringify({ model: "far", from: "tiny" });
  const response = await fetch(`${gateway?.url}/api/create`, { method: "POST", body });
  expect([response.status, await response.json()]).toEqual([
    400,
    {
      error: "cannot change model 'far': it runs on a remote engine",
      code: "model-on-remote-engine",
      model: "far",
    },
  ]);
});

test("a name in the engines file cannot be pulled; without an engines file the same pull succeeds", async () => {
  const pull: Change = { path: "/api/pull", body: { model: registryModel, insecure: true } };
  expect(await change(gateway, pull)).toMatchObject({
    status: 400,
    body: {
      error: expect.stringContaining("it runs on a remote engine"),
      code: "model-on-remote-engine",
      model: expect.any(String),
    },
  });
  expect(await change(plain, pull)).toMatchObject({ status: 200, body: { status: "success" } });
});

test.each<[string, () => TestServer | undefined, string]>([
  ["another name beside an engines file", () => gateway, `other-${randomUUID().slice(0, 8)}`],
  ["the same name without an engines file", () => plain, "far"],
])("%s can be created, copied and deleted", async (_title, server, name) => {
  expect(await change(server(), create(name, "tiny"))).toMatchObject({ status: 200 });
  expect((await change(server(), copy(name, `${name}-2`))).status).toBe(200);
  expect(await namesOf(server())).toEqual(expect.arrayContaining([`${name}:latest`, `${name}-2:latest`]));
  for (const model of [name, `${name}-2`]) {
    expect((await change(server(), { path: "/api/delete", method: "DELETE", body: { model } })).status).toBe(
      200,
    );
  }
  expect(await namesOf(server())).not.toContain(`${name}:latest`);
});

const run = (args: readonly string[], server = gateway) =>
  runHearth(args, { environment: { HEARTH_HOST: server?.url ?? "" } });

test("on the command line the error says what to do, and other names work", async () => {
  const from = await testModel("tiny-llama.gguf");
  const next = 'Next: use another name, or edit the file that "hearth serve" reads with --engines-file';
  for (const args of [
    ["create", "far", "--from", from],
    ["copy", "tiny", "far"],
    ["pull", registryModel, "--insecure"],
    ["remove", "far"],
  ]) {
    const { code, output, errors } = await run(args);
    expect([args[0], code, output]).toEqual([args[0], 2, expect.not.stringContaining("Created")]);
    expect(errors).toContain("Server error: cannot change model");
    expect(errors).toContain(next);
    expect(errors.match(/it runs on a remote engine/gu)).toHaveLength(1);
  }
  expect(await run(["create", "near", "--from", from])).toMatchObject({ code: 0 });
  expect(await run(["remove", "near"])).toMatchObject({ code: 0, output: "Removed near\n" });
  expect(await run(["copy", "tiny", "far"], plain)).toMatchObject({ code: 0 });
  expect(await run(["remove", "far"], plain)).toMatchObject({ code: 0 });
});
