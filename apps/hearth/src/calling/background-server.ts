import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { callFailure, isCallFailure } from "./call-failure.ts";
import type { ServerCaller } from "./call-server.ts";
import { environmentForServer } from "./config.ts";
import { ownFiles } from "./own-files.ts";

export type BackgroundServer = { readonly pid: number; readonly url: string };

const longestStartSeconds = 30;
const lookEveryMilliseconds = 50;
const stopGraceSeconds = 40;

/** Whether somebody answers, whoever it is; a server that wants a key answers too. */
export async function isAnswering(server: ServerCaller): Promise<boolean> {
  try {
    await server.ask("/api/version", undefined, { idleSeconds: 5 });
    return true;
  } catch (problem) {
    if (isCallFailure(problem, "server-unreachable")) return false;
    throw problem;
  }
}

/**
 * Starts `hearth serve` at the address the commands call, in the background, and waits until it answers. It stays when
 * this program and its terminal are gone.
 */
export async function startBackgroundServer(server: ServerCaller): Promise<BackgroundServer> {
  const { log, server: noted } = ownFiles();
  const { address } = server;
  mkdirSync(dirname(log), { recursive: true, mode: 0o700 });
  // What a crash says goes to the same file as the log.
  const errors = openSync(log, "a", 0o600);
  const words = ["serve", "--host", address.host.replaceAll(/^\[|\]$/gu, ""), "--port", String(address.port)];
  const child = spawn(process.execPath, [process.argv[1] ?? "", ...words, "--log-file", log], {
    detached: true,
    stdio: ["ignore", "ignore", errors],
    env: environmentForServer(server.apiKeyFile),
  });
  closeSync(errors);
  child.unref();
  const { pid = -1 } = child;
  const deadline = Date.now() + longestStartSeconds * 1000;
  while (!(await isAnswering(server))) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      throw callFailure({ kind: "server-start-failed", lines: await lastLines(log) });
    }
    await sleep(lookEveryMilliseconds);
  }
  await writeFile(noted, JSON.stringify({ pid, url: address.url }), { mode: 0o600 });
  return { pid, url: address.url };
}

/** Undefined when none was started from here, or it has ended. */
export async function findBackgroundServer(): Promise<BackgroundServer | undefined> {
  try {
    const { pid, url } = JSON.parse(await readFile(ownFiles().server, "utf8"));
    if (!Number.isInteger(pid) || pid <= 1 || typeof url !== "string") return undefined;
    return (await isOurs(pid)) ? { pid, url } : undefined;
  } catch {
    return undefined;
  }
}

export async function stopBackgroundServer({ pid }: BackgroundServer): Promise<void> {
  process.kill(pid, "SIGTERM");
  const deadline = Date.now() + stopGraceSeconds * 1000;
  while ((await isOurs(pid)) && Date.now() < deadline) await sleep(lookEveryMilliseconds);
  if (await isOurs(pid)) process.kill(pid, "SIGKILL");
  await rm(ownFiles().server, { force: true });
}

/** The number of a process that ended is given to others; where the system tells, we look what runs under it. */
async function isOurs(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const words = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => undefined);
  // A server with a key has no words but its title; an ended process that nobody has waited for has none.
  return words === undefined ? process.platform !== "linux" : /hearth/u.test(words) && /serve/u.test(words);
}

async function lastLines(log: string): Promise<readonly string[]> {
  const text = await readFile(log, "utf8").catch(() => "");
  const plain = text.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
  return plain.slice(-3);
}
