import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { routes } from "../routes.ts";
import { startTestServer, type TestServer, tiny } from "../test/start-test-server.ts";
import { accessKey } from "./keys.ts";
import { parseKeysFile } from "./keys-file.ts";
import { sendRaw } from "./test/raw-request.ts";

/** Reviewed by hand: what changes models for everyone, or shows what others do. All other routes are for every key. */
const forAdmins = new Set([
  "POST /api/copy",
  "DELETE /api/delete",
  "POST /api/delete",
  "POST /api/pull",
  "POST /api/push",
  "POST /api/create",
  "POST /api/aliases",
  "DELETE /api/aliases",
  "HEAD /api/blobs/:digest",
  "POST /api/blobs/:digest",
  "GET /metrics",
]);

const callers = { none: undefined, inference: "canary-inference", admin: "canary-admin" } as const;
const keys = [
  accessKey("program", callers.inference, "inference"),
  accessKey("operator", callers.admin, "admin"),
];

function startWithRoles(): Promise<TestServer> {
  return startTestServer({
    models: { tiny },
    script: () => [{ do: "end", reason: "stop" }],
    access: { keys },
  });
}

test("every route allows and rejects callers without a key, for inference and for administration as reviewed", async () => {
  await using server = await startWithRoles();
  const statusOf = async (row: (typeof routes)[number], key: string | undefined): Promise<number> => {
    const { status } = await sendRaw(server.url, {
      method: row.method,
      path: row.path.replace(/\*$/u, "nowhere").replace(/:[a-z]+/u, "nowhere"),
      headers: [["host", "localhost"], ...(key === undefined ? [] : [["x-api-key", key] as const])],
      ...(row.method === "GET" || row.method === "HEAD" ? {} : { body: "{" }),
    });
    return status;
  };
  const found: string[] = [];
  const expected: string[] = [];
  for (const row of routes) {
    const name = `${row.method} ${row.path}`;
    const allowed = await statusOf(row, callers.admin);
    expect([200, 302, 400, 404], name).toContain(allowed);
    const forInference = forAdmins.has(name) ? 403 : allowed;
    expected.push(`${name}: 401, ${forInference}, ${allowed}`);
    const rejected = await statusOf(row, callers.none);
    found.push(`${name}: ${rejected}, ${await statusOf(row, callers.inference)}, ${allowed}`);
  }
  expect(found).toEqual(expected);
  expect(found.filter((line) => line.includes(" 403,"))).toHaveLength(forAdmins.size);
  recordFigure({
    claim: "guard 7",
    text: `${found.length} of ${routes.length} routes allow and reject callers without a key, for inference and for administration as reviewed; ${forAdmins.size} are for admins`,
    counted: { reached: found.length * 3, needed: routes.length * 3 },
  });
});

async function generate(server: TestServer, key: string, body: object): Promise<number> {
  const response = await fetch(`${server.url}/api/generate`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "tiny", stream: false, ...body }),
  });
  await response.text();
  return response.status;
}

test("a key for inference can load and use a model, but not unload it or change how long it stays", async () => {
  await using server = await startWithRoles();
  const loaded = () => server.scheduler.running().length;
  expect(await generate(server, callers.inference, {})).toBe(200);
  expect(loaded()).toBe(1);
  expect(await generate(server, callers.inference, { keep_alive: 0 })).toBe(403);
  expect(await generate(server, callers.inference, { prompt: "Hi", keep_alive: 0 })).toBe(200);
  expect(await generate(server, callers.inference, { prompt: "Hi", keep_alive: "soon" })).toBe(400);
  const chat = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${callers.inference}` },
    body: JSON.stringify({ model: "tiny", messages: [{ role: "user", content: "Hi" }], keep_alive: 0 }),
  });
  expect([chat.status, loaded()]).toEqual([200, 1]);
  expect(await generate(server, callers.admin, { keep_alive: 0 })).toBe(200);
  await expect.poll(loaded).toBe(0);
});

async function roleOf(server: TestServer, key: string | undefined): Promise<unknown> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(`${server.url}/api/status`, { headers });
  return response.ok ? response.json() : response.status;
}

test("GET /api/status reports the role of the caller's key, which is admin on a server without keys", async () => {
  const cloud = { disabled: true, source: "none" };
  await using server = await startWithRoles();
  expect(await roleOf(server, callers.none)).toBe(401);
  expect(await roleOf(server, callers.inference)).toEqual({ cloud, role: "inference" });
  expect(await roleOf(server, callers.admin)).toEqual({ cloud, role: "admin" });
  await using open = await startTestServer({ models: { tiny }, script: () => [] });
  expect(await roleOf(open, callers.none)).toEqual({ cloud, role: "admin" });
  expect(await roleOf(open, callers.inference)).toEqual({ cloud, role: "admin" });
});

test("a key of a keys file is for inference unless it is marked as an admin key", () => {
  const { keys: parsed, errors } = parseKeysFile(
    "laptop:canary-1\nops:canary-2 admin\nci:canary-3\tinference\n",
  );
  expect(errors).toEqual([]);
  expect(parsed.map(({ name, role }) => `${name}: ${role}`)).toEqual([
    "laptop: inference",
    "ops: admin",
    "ci: inference",
  ]);
  for (const line of ["a:key root", "a:key Admin", "a:key admin admin", "a: admin"]) {
    expect(parseKeysFile(line).errors, line).toHaveLength(1);
  }
});
