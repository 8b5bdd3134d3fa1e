import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { makeTemporaryFolder, type TemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isClientFailure } from "../client-failure.ts";
import { openVaultClient } from "../vault-client.ts";
import { readRunValues } from "./read-run-values.ts";

const vaultId = "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e";
const value = "from the server";
const item = { id: vaultId, path: "/A", name: "A", version: 1, type: "text", value, encoding: "utf8" };

/** "away" closes the connection. */
type Reply = "away" | number | readonly [status: number, code: string];

let home: TemporaryFolder;
let server: Awaited<ReturnType<typeof startServer>>;

beforeEach(async () => {
  home = await makeTemporaryFolder("keep-values");
  vi.stubEnv("XDG_CACHE_HOME", join(home.path, "cache"));
  vi.stubEnv("XDG_CONFIG_HOME", join(home.path, "config"));
  server = await startServer();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
  await server[Symbol.asyncDispose]();
  await home[Symbol.asyncDispose]();
});

/** A server whose reply the test chooses. */
async function startServer() {
  const state: { reply: Reply; tags: (string | undefined)[] } = { reply: 200, tags: [] };
  const listener = createServer((request, response) => {
    state.tags.push(request.headers["if-none-match"]);
    if (state.reply === "away") return request.socket.destroy();
    const [status, code] = [state.reply].flat();
    response.writeHead(Number(status), { "content-type": "application/json", etag: '"tag"' });
    const body = code === undefined ? { revision: 1, items: [item] } : { status, title: "Problem", code };
    return response.end(status === 304 ? "" : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  // A listening TCP server has an address with a port.
  const { port } = listener.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    state,
    [Symbol.asyncDispose]: async () => {
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

type ReadOptions = { readonly token?: string; readonly folder?: string; readonly isOffline?: boolean };

/** The value, where it is from, or why there is none. */
async function read({ token = "one", folder = "/", isOffline = true }: ReadOptions = {}): Promise<string> {
  await using client = openVaultClient(server.url, token);
  const project = { login: undefined, project: undefined, isInheriting: false };
  const context = {
    ...project,
    client,
    token,
    vaultId,
    folder,
    [Symbol.asyncDispose]: async () => undefined,
  };
  const options = {
    names: undefined,
    isOffline,
    maxAgeMinutes: 24 * 60,
    openKeyring: async () => undefined,
  };
  try {
    const { values, isFromCache } = await readRunValues(options, context);
    return `${values.items[0]?.value}${isFromCache ? " (copy)" : ""}`;
  } catch (error) {
    if (isClientFailure(error, "cache-missing") || isClientFailure(error, "server-unreachable"))
      return error.failure.kind;
    if (isClientFailure(error, "problem")) return error.failure.problem.code;
    throw error;
  }
}

const cacheFiles = async (): Promise<readonly string[]> =>
  readdir(join(home.path, "cache/keep")).catch(() => []);

test("without --offline, nothing is stored", async () => {
  expect(await read({ isOffline: false })).toBe(value);
  server.state.reply = "away";
  expect(await read({ isOffline: false })).toBe("server-unreachable");
  expect(await cacheFiles()).toEqual([]);
});

test("a copy is used while the server is away or starts, and confirmed with its entity tag", async () => {
  expect(await read()).toBe(value);
  server.state.reply = 304;
  expect(await read()).toBe(value);
  expect(server.state.tags).toEqual([undefined, '"tag"']);
  for (const reply of ["away", [503, "unavailable"]] as const) {
    server.state.reply = reply;
    expect(await read()).toBe(`${value} (copy)`);
  }
});

test("a copy is encrypted, and bound to its token, folder and server", async () => {
  await read();
  const [file = ""] = await cacheFiles();
  const stored = await readFile(join(home.path, "cache/keep", file));
  for (const text of [value, Buffer.from(value).toString("base64")])
    expect(stored.includes(text)).toBe(false);
  server.state.reply = "away";
  expect(await read({ token: "two" })).toBe("cache-missing");
  expect(await read({ folder: "/other" })).toBe("cache-missing");
  expect(await read()).toBe(`${value} (copy)`);
});

test("a copy that was modified, or is of another request, is deleted instead of used", async () => {
  await read();
  await read({ folder: "/other" });
  const files = (await cacheFiles()).map((name) => join(home.path, "cache/keep", name));
  const [first = "", second = ""] = files;
  const good = await readFile(first);
  const modified = Buffer.from(good);
  modified[good.length - 1] = (good.at(-1) ?? 0) ^ 1;
  server.state.reply = "away";
  await writeFile(first, modified);
  // The other request's file has this one's content.
  await writeFile(second, good);
  expect([await read(), await read({ folder: "/other" })]).toEqual(["cache-missing", "cache-missing"]);
  expect(await cacheFiles()).toEqual([]);
});

test("a copy is used for 24 hours, and not with a clock that was set back", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const start = Date.now();
  const hour = 3_600_000;
  const readAt = async (milliseconds: number) => {
    server.state.reply = 200;
    vi.setSystemTime(start);
    await read();
    server.state.reply = "away";
    vi.setSystemTime(start + milliseconds);
    return read();
  };
  expect(await readAt(23 * hour)).toBe(`${value} (copy)`);
  expect(await readAt(25 * hour)).toBe("cache-missing");
  expect(await readAt(-hour)).toBe("cache-missing");
});

test("an error of the server is reported and keeps the copy", async () => {
  await read();
  server.state.reply = [500, "internal"];
  expect(await read()).toBe("internal");
  server.state.reply = "away";
  expect(await read()).toBe(`${value} (copy)`);
});

test.each([
  [401, "unauthenticated"],
  [403, "insufficient_scope"],
  [404, "not_found"],
] as const)("a %i deletes the copy, so that it is not used afterwards either", async (status, code) => {
  await read();
  server.state.reply = "away";
  expect(await read()).toBe(`${value} (copy)`);
  server.state.reply = [status, code];
  expect(await read()).toBe(code);
  server.state.reply = "away";
  expect(await read()).toBe("cache-missing");
});
