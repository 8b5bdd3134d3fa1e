import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chown, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { childEnvironment } from "../config.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { findUnprivilegedAccount, type UnprivilegedAccount } from "./unprivileged-account.ts";

export const superuser = "postgres";

/** The data files of one server, which outlive its processes and are deleted when the scope ends. */
export type Cluster = AsyncDisposable & {
  readonly dataFolder: string;
  readonly password: string;
  readonly account: UnprivilegedAccount | undefined;
};

export async function initializeCluster(initdb: string, parent?: string): Promise<Cluster> {
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(await makeTemporaryFolder("postgres", parent));
  const account = await findUnprivilegedAccount();
  if (account !== undefined) await chown(folder.path, account.uid, account.gid);
  const password = randomBytes(16).toString("hex");
  const dataFolder = join(folder.path, "data");
  await runInitdb(initdb, { folder: folder.path, dataFolder, password, account });
  const owned = undo.move();
  return { dataFolder, password, account, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

type ClusterPlan = {
  readonly folder: string;
  readonly dataFolder: string;
  readonly password: string;
  readonly account: UnprivilegedAccount | undefined;
};

async function runInitdb(initdb: string, plan: ClusterPlan): Promise<void> {
  const passwordFile = join(plan.folder, "password");
  await writeFile(passwordFile, plan.password, { mode: 0o600 });
  if (plan.account !== undefined) await chown(passwordFile, plan.account.uid, plan.account.gid);
  const args = [
    `--pgdata=${plan.dataFolder}`,
    `--username=${superuser}`,
    `--pwfile=${passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C.UTF-8",
    "--no-sync",
    "--no-instructions",
  ];
  try {
    // initdb fails in a working folder that its account cannot access.
    await promisify(execFile)(initdb, args, { cwd: plan.folder, env: childEnvironment(), ...plan.account });
  } catch (cause) {
    throw new Error(`Cannot create a PostgreSQL cluster with "${initdb}"`, { cause });
  }
  await rm(passwordFile);
}
