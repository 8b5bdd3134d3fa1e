import { chmod, mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { findFreePort, listenOnLoopback } from "../loopback-port.ts";
import { makeTemporaryFolder, type TemporaryFolder } from "../temporary-folder.ts";
import { initializeCluster } from "./initialize-cluster.ts";
import { findPostgresPrograms } from "./postgres-programs.ts";
import { startServerProcess } from "./server-process.ts";
import { startPostgres } from "./start-postgres.ts";

afterEach(() => vi.unstubAllEnvs());

test("a server with invalid settings leaves no folder and no process, and reports the invalid setting", async () => {
  await using watched = await watchTemporaryFolders();
  await expect(startPostgres({ settings: { shared_buffers: "plenty" } })).rejects.toThrow(
    'invalid value for parameter "shared_buffers": "plenty"',
  );
  expect(await readdir(watched.path)).toEqual([]);
  expect(await listProcessesUnder(watched.path)).toEqual([]);
});

test("a cluster that cannot be created leaves no folder", async () => {
  await using watched = await watchTemporaryFolders();
  await expect(initializeCluster("/bin/false")).rejects.toThrow(
    'Cannot create a PostgreSQL cluster with "/bin/false"',
  );
  expect(await readdir(watched.path)).toEqual([]);
});

test("the same search finds the folder and process of a running server", async () => {
  await using watched = await watchTemporaryFolders();
  await using postgres = await startPostgres();
  expect(await readdir(watched.path)).toHaveLength(1);
  expect(await listProcessesUnder(watched.path)).toContain(postgres.pid);
});

test("a start retries on another port when its port is in use", async () => {
  const blocker = createServer();
  const taken = await listenOnLoopback(blocker);
  await using programs = await preparedCluster();
  const free = await findFreePort();
  const offered = [taken, taken, free];
  await using server = await startServerProcess({ ...programs, findPort: async () => offered.shift() ?? 0 });
  expect(server.port).toBe(free);
  blocker.close();
});

test("a port that stays in use is reported after a few attempts", async () => {
  const blocker = createServer();
  const taken = await listenOnLoopback(blocker);
  await using programs = await preparedCluster();
  await expect(startServerProcess({ ...programs, findPort: async () => taken })).rejects.toThrow(
    "Address already in use",
  );
  blocker.close();
});

test("the newest installed server is found first, then the one on PATH", async () => {
  await using folder = await makeTemporaryFolder("programs");
  const onPath = join(folder.path, "on-path");
  await installInto(onPath, ["initdb", "postgres"]);
  await installInto(join(folder.path, "9", "bin"), ["initdb", "postgres"]);
  await installInto(join(folder.path, "15", "bin"), ["initdb", "postgres"]);
  await installInto(join(folder.path, "16", "bin"), ["psql"]);
  const paths = { versionsFolder: folder.path, searchPath: onPath };
  expect((await findPostgresPrograms(paths)).postgres).toBe(join(folder.path, "15", "bin", "postgres"));
  const withoutVersions = { ...paths, versionsFolder: join(folder.path, "absent") };
  expect((await findPostgresPrograms(withoutVersions)).initdb).toBe(join(onPath, "initdb"));
  await expect(findPostgresPrograms({ ...withoutVersions, searchPath: folder.path })).rejects.toThrow(
    "Cannot find PostgreSQL",
  );
});

async function watchTemporaryFolders(): Promise<TemporaryFolder> {
  const folder = await makeTemporaryFolder("watched");
  // The server's account needs access to its own folder below.
  await chmod(folder.path, 0o755);
  vi.stubEnv("TMPDIR", folder.path);
  return folder;
}

async function listProcessesUnder(folder: string): Promise<readonly number[]> {
  const entries = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(
    entries.map((name) => readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "")),
  );
  return entries.filter((_, index) => commands[index]?.includes(folder)).map(Number);
}

async function preparedCluster() {
  const programs = await findPostgresPrograms();
  const cluster = await initializeCluster(programs.initdb);
  return {
    program: programs.postgres,
    cluster,
    settings: { fsync: "off" },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

async function installInto(folder: string, names: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const name of names) await symlink("/bin/true", join(folder, name));
}
