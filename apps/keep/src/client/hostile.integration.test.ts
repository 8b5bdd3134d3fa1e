import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Machine, openMachine, type RunOptions } from "./test/machine.ts";

let machine: Machine;
let server: Awaited<ReturnType<typeof startServer>>;

beforeEach(async () => {
  server = await startServer();
  machine = await openMachine(server);
});
afterEach(async () => {
  await machine[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** A server that a person logged in to, and that somebody has taken over. */
async function startServer() {
  const state: { respond: RequestListener } = { respond: (_request, response) => void response.end() };
  const listener = createServer((request, response) => state.respond(request, response));
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

const vaultId = "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e";

function keep(args: readonly string[], options: RunOptions = {}) {
  const environment = { KEEP_TOKEN: "sk-svc-x", KEEP_SERVER: server.url, KEEP_VAULT: vaultId };
  return machine.keep(args, { ...options, environment: { ...environment, ...options.environment } });
}

function respondWith(body: unknown, status = 200): void {
  server.state.respond = (_request, response) => {
    response.writeHead(status, { "content-type": "application/json", etag: '"tag"' });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

const item = (name: string, value: unknown = "value") => ({
  id: vaultId,
  path: `/${name}`,
  name,
  version: 1,
  type: "text",
  value,
  encoding: "utf8",
});
const values = (...items: readonly unknown[]) => ({ revision: 1, items });
const printAll = ["run", "--", "node", "-p", "JSON.stringify(process.env)"];

test("names that are no variables reach neither the environment nor the terminal as they are", async () => {
  const names = ["A", "B\nLD_PRELOAD", "C=D", "__proto__", "E\u001B[2J", "F G", ""];
  respondWith(values(...names.slice(0, -1).map((name) => item(name))));
  const { code, stdout, stderr } = await keep(printAll);
  expect(code).toBe(0);
  const found = JSON.parse(stdout);
  expect(found).toHaveProperty("A", "value");
  expect(Object.keys(found).filter((name) => /[^A-Za-z0-9_]|^LD_PRELOAD$/u.test(name))).toEqual([]);
  expect(stderr).toContain("Not passed");
  for (const text of ["\u001B", "\nLD_PRELOAD"]) expect(stderr).not.toContain(text);
});

test("names that lead out of the folder of mounted files are left out", async () => {
  respondWith(values(item("../escaped"), item(".."), item("a/b"), item("a\0b"), item(".hidden"), item("OK")));
  const script = "ls -A secrets; ls ..";
  const { code, stdout, stderr } = await keep(["run", "--mount", "secrets", "--", "sh", "-c", script]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^\.hidden\nOK\n/u)]);
  expect(stdout).not.toContain("escaped");
  expect(stderr).toContain("cannot be names of files");
});

test.each([
  ["a value that is no text", values(item("A", { toString: "x" }))],
  ["deep JSON", "[".repeat(5_000_000)],
  [
    "more secrets than there can be",
    values(...Array.from({ length: 5000 }, (_, index) => item(`A${index}`))),
  ],
])("%s starts no program", async (_name, body) => {
  respondWith(body);
  const { code, stderr } = await keep(["run", "--", "touch", join(machine.project, "started")]);
  expect([code, stderr]).toEqual([6, expect.stringContaining("is not Keep")]);
  await expect(readFile(join(machine.project, "started"))).rejects.toThrow("ENOENT");
});

test("a response that never ends is given up, in bounded memory", { timeout: 120_000 }, async () => {
  server.state.respond = (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const chunk = Buffer.alloc(1024 * 1024, "x");
    const write = (): void => {
      while (!response.destroyed && response.write(chunk));
      response.once("drain", write);
    };
    write();
  };
  const { code, stderr } = await keep(["run", "--", "true"], {
    environment: { NODE_OPTIONS: "--max-old-space-size=200" },
  });
  expect([code, stderr]).toEqual([3, expect.stringContaining("Cannot reach")]);
});

test("a redirect does not get the token", async () => {
  await using other = await startServer();
  const received: (string | undefined)[] = [];
  other.state.respond = (request, response) => {
    received.push(request.headers.authorization);
    response.end(JSON.stringify(values(item("A"))));
  };
  server.state.respond = (_request, response) => response.writeHead(307, { location: other.url }).end();
  expect((await keep(["run", "--", "true"])).code).toBe(6);
  expect(received).toEqual([]);
});

test("an error message of the server cannot control the terminal", async () => {
  const title = "\u001B]0;title\u0007\u202E\r\nNext: run rm";
  respondWith({ status: 422, title, code: "\u001B[2J", detail: title }, 422);
  const { code, stderr } = await keep(["list"]);
  expect(code).toBe(2);
  for (const text of ["\u001B", "\u0007", "\u202E", "\r", "\nNext: run rm"])
    expect(stderr).not.toContain(text);
});

test("a response of a proxy while the server is away is no answer of the server, so a copy is used", async () => {
  respondWith(values(item("A")));
  const args = ["run", "--offline", "--", "printenv", "A"];
  expect((await keep(args)).stdout).toBe("value\n");
  respondWith("<html>Bad gateway</html>", 502);
  expect((await keep(args)).stdout).toBe("value\n");
  respondWith("<html>Moved</html>", 302);
  expect((await keep(args)).code).toBe(6);
});

test("a token that no header can contain is refused in words", async () => {
  const { code, stderr } = await keep(["list"], { environment: { KEEP_TOKEN: "a\nx: b" } });
  expect([code, stderr]).toEqual([2, expect.stringContaining("There is no token in KEEP_TOKEN")]);
});

test("links at the paths of logins and copies are replaced, and what they point to stays as it is", async () => {
  respondWith(values(item("A")));
  const target = join(machine.project, "target");
  await mkdir(target);
  await writeFile(join(target, "file"), "kept", { mode: 0o600 });
  await mkdir(join(machine.home, ".config/keep"), { recursive: true });
  await mkdir(join(machine.home, ".cache"), { recursive: true });
  await symlink(join(target, "file"), join(machine.home, ".config/keep/cache.key"));
  await symlink("/dev/zero", join(machine.home, ".config/keep/logins.json"));
  expect((await keep(["run", "--offline", "--", "true"])).code).toBe(0);
  expect(await readFile(join(target, "file"), "utf8")).toBe("kept");
  const { code, stderr } = await keep(["whoami"], { environment: { KEEP_TOKEN: "" } });
  expect([code, stderr]).toEqual([3, expect.stringContaining("it is not a file")]);
});
