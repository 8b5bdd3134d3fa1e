import { expect, test } from "vitest";
import { startTestServer, type TestServer, tiny } from "../test/start-test-server.ts";
import type { Access } from "./authenticate.ts";
import { accessKey, findKey } from "./keys.ts";
import { parseKeysFile } from "./keys-file.ts";
import { sendRaw } from "./test/raw-request.ts";

const keys = [accessKey("first", "canary-1"), accessKey("second", "canary-2")];

function startWith(access: Access): Promise<TestServer> {
  return startTestServer({ models: {}, script: () => [], access });
}

async function statusOf(server: TestServer, ...headers: readonly (readonly [string, string])[]) {
  const request = {
    method: "GET",
    path: "/api/version",
    headers: [["host", "localhost"] as const, ...headers],
  };
  return (await sendRaw(server.url, request)).status;
}

const bearer = (key: string) => ["authorization", `Bearer ${key}`] as const;
const basic = (text: string) => ["authorization", `Basic ${btoa(text)}`] as const;
const apiKey = (key: string) => ["x-api-key", key] as const;

test("each of several keys is accepted, and similar keys are not", async () => {
  await using server = await startWith({ keys });
  expect(await statusOf(server, bearer("canary-1"))).toBe(200);
  expect(await statusOf(server, apiKey("canary-2"))).toBe(200);
  expect(await statusOf(server, basic("anyone:canary-2"))).toBe(200);
  expect(await statusOf(server, ["authorization", "bearer   canary-1"])).toBe(200);
  for (const wrong of ["canary", "canary-1x", "canary-12", "CANARY-1", "first", "first:canary-1"]) {
    expect(await statusOf(server, bearer(wrong))).toBe(401);
  }
  expect(await statusOf(server, basic("canary-1:"))).toBe(401);
  expect(await statusOf(server, ["authorization", "canary-1"])).toBe(401);
  expect(await statusOf(server, ["authorization", "Digest canary-1"])).toBe(401);
});

test("the password of a Basic credential may contain colons", async () => {
  await using server = await startWith({ keys: [accessKey("one", "a:b:c")] });
  expect(await statusOf(server, basic("name:a:b:c"))).toBe(200);
  expect(await statusOf(server, basic("name:a:b"))).toBe(401);
});

test("two different credentials in one request are rejected; the same one twice, or an empty one, is not", async () => {
  await using server = await startWith({ keys });
  expect(await statusOf(server, bearer("canary-1"), apiKey("canary-2"))).toBe(401);
  expect(await statusOf(server, bearer("canary-1"), apiKey("wrong"))).toBe(401);
  expect(await statusOf(server, bearer("canary-1"), bearer("wrong"))).toBe(401);
  expect(await statusOf(server, apiKey("canary-1"), apiKey("wrong"))).toBe(401);
  expect(await statusOf(server, bearer("canary-1"), apiKey("canary-1"))).toBe(200);
  expect(await statusOf(server, bearer("canary-1"), bearer("canary-1"))).toBe(200);
  expect(await statusOf(server, bearer(""), apiKey("canary-1"))).toBe(200);
});

test("a server without keys accepts any credential, even two different ones, and none", async () => {
  await using server = await startWith({ keys: [] });
  expect(await statusOf(server)).toBe(200);
  expect(await statusOf(server, bearer("anything"))).toBe(200);
  expect(await statusOf(server, bearer("anything"), apiKey("else"))).toBe(200);
  expect(await statusOf(server, basic("any:thing"), apiKey("else"))).toBe(200);
});

async function partitionsOf(isCacheShared: boolean): Promise<readonly string[]> {
  await using server = await startTestServer({
    models: { tiny },
    script: () => [],
    access: { keys, isCacheShared },
  });
  for (const key of ["canary-1", "canary-2"]) {
    const response = await fetch(`${server.url}/api/generate`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: "tiny", prompt: "Hello", stream: false }),
    });
    await response.text();
  }
  return server.requests.map(({ cachePartition }) => cachePartition);
}

test("cached prompts are separate for each key unless sharing is enabled", async () => {
  expect(await partitionsOf(false)).toEqual(["first", "second"]);
  expect(await partitionsOf(true)).toEqual(["", ""]);
});

test("the log contains the name of a key, never the key", async () => {
  await using server = await startWith({ keys });
  await statusOf(server, bearer("canary-2"));
  await statusOf(server, bearer("canary-wrong"));
  await expect.poll(() => server.logRecords()).toHaveLength(2);
  expect(server.logRecords()[0]).toMatchObject({ keyName: "second" });
  expect(server.logRecords()[1]).not.toHaveProperty("keyName");
  expect(JSON.stringify(server.logRecords())).not.toContain("canary");
});

test("every invalid line of a keys file is reported by number, without its key", () => {
  const { keys: read, errors } = parseKeysFile("# team\n\nlaptop:canary-1\r\n phone:a:b \n");
  expect(errors).toEqual([]);
  expect(findKey(read, "canary-1")?.name).toBe("laptop");
  expect(findKey(read, "a:b")?.name).toBe("phone");
  const wrong = parseKeysFile(
    "canary-1\n:canary-2\nna me:canary-3\none:canary-4\none:canary-5\ntwo:canary-4\n",
  );
  expect(wrong.errors.map((error) => error.slice(0, 18))).toEqual([
    "line 1 must have t",
    "line 2 must have t",
    "line 3 must have t",
    "line 5 repeats the",
    "line 6 repeats a k",
  ]);
  expect(wrong.errors.join()).not.toContain("canary");
});
