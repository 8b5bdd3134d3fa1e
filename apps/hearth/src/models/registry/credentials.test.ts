import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { readCredentials } from "./credentials.ts";

const auth = Buffer.from("me:pass:word").toString("base64");
const mine = { kind: "basic", name: "me", password: "pass:word" };

async function credentialsOf(content: string) {
  await using folder = await makeTemporaryFolder("credentials");
  const dockerConfig = join(folder.path, "config.json");
  await writeFile(dockerConfig, content);
  return await readCredentials({ dockerConfig });
}

test("each credential in Docker's file is only used for its own host", async () => {
  const credentials = await credentialsOf(
    JSON.stringify({ auths: { "registry.lan:5000": { auth }, "https://other.example/v2/": { auth } } }),
  );
  expect(credentials.forHost("registry.lan:5000")).toEqual(mine);
  expect(credentials.forHost("other.example")).toEqual(mine);
  for (const host of ["registry.lan", "registry.lan:5001", "evil.example"]) {
    expect(credentials.forHost(host)).toBeUndefined();
  }
});

test("Docker's own entry is used for the host of its registry API", async () => {
  const credentials = await credentialsOf(
    JSON.stringify({ auths: { "https://index.docker.io/v1/": { auth } } }),
  );
  expect(credentials.forHost("registry-1.docker.io")).toEqual(mine);
});

test("the Hub's token is only used for the Hub", async () => {
  const credentials = await readCredentials({ hubToken: "hf_secret" });
  expect(credentials.forHost("huggingface.co")).toEqual({ kind: "bearer", token: "hf_secret" });
  expect(credentials.forHost("registry.ollama.ai")).toBeUndefined();
});

test.for([
  "",
  "{",
  "[]",
  '{"auths":[]}',
  '{"auths":{"a":5}}',
  '{"auths":{"a":{"auth":"!"}}}',
  '{"auths":{"a":{}}}',
])("a file without valid credentials is ignored: %s", async (content) => {
  expect((await credentialsOf(content)).forHost("a")).toBeUndefined();
});

test("a missing file is ignored", async () => {
  expect((await readCredentials({ dockerConfig: "/nowhere/config.json" })).forHost("a")).toBeUndefined();
});
