import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { type RemoteModel, readEnginesFile } from "./engines-file.ts";

async function read(toml: string): Promise<readonly RemoteModel[]> {
  await using folder = await makeTemporaryFolder("engines");
  const path = join(folder.path, "engines.toml");
  await writeFile(path, toml);
  await writeFile(join(folder.path, "engine.key"), "sk-secret\n");
  return await readEnginesFile(path);
}

const addresses = 'addresses = ["http://10.0.0.4:8000", "http://10.0.0.5:8000"]';

test("an entry is read with its values, and with defaults for the rest", async () => {
  const [full, short] = await read(
    `[models.qwen3]\ndialect = "vllm"\nmodel = "Qwen/Qwen3-8B"\n${addresses}\nkey_file = "engine.key"\ncontext_tokens = 32768\nrequests_per_engine = 64\ncapabilities = ["tools", "vision"]\n[models.other]\n${addresses}\n`,
  );
  expect(full).toMatchObject({
    name: "qwen3:latest",
    capabilities: ["completion", "vision", "tools"],
    sequences: 128,
    plan: {
      dialect: "vllm",
      model: "Qwen/Qwen3-8B",
      key: "sk-secret",
      contextTokens: 32_768,
      canSeeImages: true,
      canHearAudio: false,
    },
  });
  expect(short).toMatchObject({ capabilities: ["completion"], sequences: 64, plan: { dialect: "openai" } });
  expect(JSON.stringify({ ...full, plan: undefined })).not.toContain("sk-secret");
});

test("engines are discovered by DNS or in Kubernetes", async () => {
  const models = await read(
    `[models.a]\ndiscover = { dns = "http://engines.lan:8000" }\n[models.b]\ndiscover = { kubernetes = { namespace = "models", service = "vllm", port = 8000 } }\n`,
  );
  // The number of engines is only known after discovery.
  expect(models.map(({ sequences }) => sequences)).toEqual([32, 32]);
  expect(models.map(({ plan }) => plan.engines)).toMatchObject([
    { type: "dns", address: new URL("http://engines.lan:8000") },
    { type: "kubernetes", namespace: "models", service: "vllm", port: 8000 },
  ]);
});

test.each([
  ["[models.a]", 'must have either "addresses" or "discover"'],
  [`[models.a]\n${addresses}\ndiscover = { dns = "http://x" }`, 'must have either "addresses" or "discover"'],
  ['[models.a]\naddresses = ["http://key@10.0.0.4"]', "without a key"],
  ['[models.a]\naddresses = ["ftp://10.0.0.4"]', "must be a URL such as http"],
  ['[models.a]\naddresses = ["http://a:1", "http://a:1"]', "lists the same engine twice"],
  [`[models.a]\n${addresses}\ndialect = "tgi"`, "must be one of llama-server, vllm, sglang, openai"],
  [`[models.a]\n${addresses}\nrequests_per_engine = 0`, "must be a whole number from 1 to 10000"],
  [`[models.a]\n${addresses}\ncapabilities = ["magic"]`, "must be a list of some of"],
  [`[models.a]\n${addresses}\nspeed = 3`, "is not a setting"],
  [`[models.a]\n${addresses}\nkey_file = "nowhere"`, "must be a file with a key"],
  [`[models."../x"]\n${addresses}`, "is not a model name"],
  ['[models.a]\ndiscover = { dns = "https://x" }', "must use http"],
  ['[models.a]\ndiscover = { kubernetes = { namespace = "A", service = "s", port = 1 } }', "lower-case"],
  ["other = 1", 'there is no setting named "other"'],
  ["models", "Invalid TOML document"],
])("an error is reported: %j", async (toml, message) => {
  await expect(read(toml)).rejects.toThrow(message);
});

test("all errors are reported together, and no file means no models", async () => {
  const errors = read(`[models.a]\nspeed = 3\n[models.b]\n${addresses}\ndialect = "tgi"`);
  await expect(errors).rejects.toMatchObject({ messages: { length: 3 } });
  expect(await readEnginesFile(undefined)).toEqual([]);
  await expect(readEnginesFile("/nowhere/engines.toml")).rejects.toThrow("which cannot be read");
});
