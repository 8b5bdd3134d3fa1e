import { spawn } from "node:child_process";
import { cp, lstat, readdir, readFile, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { findFreePort } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import { startTestKeep, type TestKeep } from "../../test/start-test-keep.ts";
import { type Finished, type Machine, openMachine } from "../test/machine.ts";

let keep: TestKeep;
let vault: OpenedVault;
let machine: Machine;
const restarted = new AsyncDisposableStack();
let address: Awaited<ReturnType<typeof openAddress>>;

beforeAll(async () => {
  keep = await startUnlimitedKeep();
  vault = await openVault(keep);
  machine = await openMachine(vault);
  address = await openAddress(keep.url);
  await vault.write("/app/VALUE", "canary-one");
});
afterAll(async () => {
  await address.leave();
  await restarted.disposeAsync();
  await machine[Symbol.asyncDispose]();
  await keep[Symbol.asyncDispose]();
});

/** The address that clients know, behind which the server goes away and comes back. */
async function openAddress(first: string) {
  const port = await findFreePort();
  const sockets = new Set<Socket>();
  let target = first;
  let listener: ReturnType<typeof createServer> | undefined;
  const leave = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => (listener === undefined ? resolve(undefined) : listener.close(resolve)));
    listener = undefined;
  };
  const come = async (next = target) => {
    await leave();
    target = next;
    listener = createServer((client) => {
      const server = connect(Number(new URL(target).port), "127.0.0.1");
      for (const socket of [client, server]) {
        sockets.add(socket);
        socket.on("error", () => undefined).on("close", () => [client, server].map((each) => each.destroy()));
      }
      client.pipe(server).pipe(client);
    });
    await new Promise<void>((resolve) => listener?.listen(port, "127.0.0.1", resolve));
  };
  await come();
  return { url: `http://127.0.0.1:${port}`, come, leave };
}

type RunPlan = {
  readonly token: string;
  readonly args?: readonly string[];
  readonly environment?: Record<string, string>;
};

function run({ token, args = [], environment = {} }: RunPlan): Promise<Finished> {
  const all = ["run", "--folder", "/app", "--offline", ...args, "--", "sh", "-c", 'printf %s "$VALUE"'];
  return machine.keep(all, {
    environment: {
      KEEP_TOKEN: token,
      KEEP_SERVER: address.url,
      KEEP_VAULT: vault.person.vaultId,
      ...environment,
    },
  });
}

/** A clock that is ahead. */
const later = (hours: number) => ({
  NODE_OPTIONS: `--import=data:text/javascript,const{now}=Date;Date.now=()=>now()+${hours}*3600000`,
});
const cache = () => join(machine.home, ".cache/keep");
const runs = (value: string) => ({ code: 0, stdout: value });
const refuses = (code: number, words: string) => ({
  code,
  stdout: "",
  stderr: expect.stringContaining(words),
});

const tamperedPlaces = chooseSize({ ci: 1, show: 3, nightly: 3 });

test("a copy is used while the server is away, within its age, and never against a decision of the server", {
  timeout: 180_000,
}, async () => {
  const token = await vault.addToken({ scopes: ["secrets:read"] });
  const checked: string[] = [];
  const check = async (name: string, plan: Omit<RunPlan, "token">, expected: object) => {
    expect(await run({ token, ...plan }), name).toMatchObject(expected);
    checked.push(name);
  };
  await check("online", {}, runs("canary-one"));
  await address.leave();
  await check("gone", {}, runs("canary-one"));
  await check("gone, 23 hours later", { environment: later(23) }, runs("canary-one"));
  await check("gone, another folder", { args: ["--folder", "/"] }, refuses(3, "no copy of the values"));
  await check(
    "gone, too old for this run",
    { args: ["--max-age", "1h"], environment: later(2) },
    refuses(3, "at most 1h old"),
  );
  await address.come();
  await check("back", {}, runs("canary-one"));
  await address.leave();
  await check("gone, a day later", { environment: later(25) }, refuses(3, "at most 1d old"));
  await restart();
  await check("restarted", {}, runs("canary-one"));
  await vault.write("/app/VALUE", "canary-two");
  await check("changed", {}, runs("canary-two"));
  await address.leave();
  await check("gone after the change", {}, runs("canary-two"));
  const [name = ""] = await readdir(cache());
  const good = await readFile(join(cache(), name));
  const all = [0, Math.floor(good.length / 2), good.length - 1];
  for (const at of all.slice(0, tamperedPlaces)) {
    const tampered = Buffer.from(good);
    tampered[at] = (good[at] ?? 0) ^ 1;
    await writeFile(join(cache(), name), tampered, { mode: 0o600 });
    await check(`tampered at byte ${at}`, {}, refuses(3, "no copy of the values"));
    await writeFile(join(cache(), name), good, { mode: 0o600 });
  }
  await check("untampered again", {}, runs("canary-two"));
  const [, self] = await vault.as(token).json("GET", "/api/secrets/tokens/self");
  await vault.json("DELETE", `/api/secrets/tokens/${self.id}`);
  await check("revoked while the server is away", {}, runs("canary-two"));
  await address.come();
  await check("revoked", {}, refuses(4, "expired or was revoked"));
  await address.leave();
  await check("gone after the revocation", {}, refuses(3, "no copy of the values"));
  await address.come();
  recordFigure({
    claim: "client 3",
    text: `${checked.length} of ${checked.length} situations as promised: ${checked.join(", ")}`,
    counted: { reached: checked.length, needed: 14 + tamperedPlaces },
  });
});

/** A new process of the server with the same database and key. */
async function restart(): Promise<void> {
  const { databaseUrl, key } = keep;
  const settings = { readsPerMinute: "1000000", writesPerMinute: "1000000" };
  const next = await startTestKeep({ databaseUrl, key, settings });
  restarted.use(next);
  await address.come(next.url);
}

test("another user of the machine reads neither the copy nor its key, and a copy of both folders is of no use to them", async () => {
  const token = await vault.addToken({ scopes: ["secrets:read"] });
  expect(await run({ token })).toMatchObject({ code: 0 });
  const files = [...(await filesIn(cache())), ...(await filesIn(join(machine.home, ".config/keep")))];
  expect(files.length).toBeGreaterThanOrEqual(2);
  for (const file of files) {
    expect((await lstat(file)).mode & 0o777, file).toBe(0o600);
    const content = await readFile(file);
    for (const text of ["canary", btoa("canary-two").slice(0, 12), token])
      expect(content.includes(text), file).toBe(false);
  }
  // Only the administrator can act as another user; the modes above are the same fact.
  const isRoot = process.getuid?.() === 0;
  const readable = isRoot
    ? (await Promise.all(files.map((file) => readAs(65_534, file)))).filter(Boolean)
    : [];
  expect(readable).toEqual([]);
  await address.leave();
  // With the files but without the token.
  const home = join(machine.project, "stolen");
  for (const folder of [".cache", ".config"])
    await cp(join(machine.home, folder), join(home, folder), { recursive: true });
  const stolen = await run({ token: vault.token.text, environment: { HOME: home } });
  expect(stolen).toMatchObject(refuses(3, "no copy of the values"));
  expect(await run({ token, environment: { HOME: home } })).toMatchObject(runs("canary-two"));
  await address.come();
  recordFigure({
    claim: "client 3",
    text: `${readable.length} of ${files.length} files readable by another user${isRoot ? ", tried as user 65534" : ", by their modes"}`,
    counted: { reached: files.length - readable.length, needed: files.length },
  });
});

async function filesIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).map((name) => join(folder, name));
}

/** Whether that user can read it. */
async function readAs(user: number, file: string): Promise<boolean> {
  const child = spawn("cat", [file], { uid: user, gid: user, stdio: "ignore" });
  return new Promise((resolve) => child.on("close", (code) => resolve(code === 0)));
}
