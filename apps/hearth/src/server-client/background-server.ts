import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { explainFileError } from "@hearth-and-keep/failures";
import { appPaths } from "./app-paths.ts";
import { callFailure, isCallFailure } from "./call-failure.ts";
import { serverEnvironment } from "./config.ts";
import { type BackgroundServer, isStillRunning, removePidFile, writePidFile } from "./pid-files.ts";
import type { ServerAddress } from "./server-address.ts";
import type { ServerClient } from "./server-client.ts";

const startTimeoutSeconds = 30;
const pollIntervalMilliseconds = 50;
const stopGraceSeconds = 40;
const maxReadBytes = 64 * 1024;
const maxReportedLines = 4;

/** Whether a server responds; other failures, such as a missing key, are thrown. */
export async function isReachable(server: ServerClient): Promise<boolean> {
  try {
    await server.request("/api/version", undefined, { idleSeconds: 5 });
    return true;
  } catch (error) {
    if (isCallFailure(error, "server-unreachable")) return false;
    throw error;
  }
}

/**
 * Starts `hearth serve` in the background at the given address and waits until it listens. It keeps running when this
 * process and its terminal are gone. Returns `found` if another command has started a server there in the meantime.
 */
export async function startBackgroundServer(server: ServerClient): Promise<"started" | "found"> {
  await using files = await openStartFiles();
  const logStart = (await files.log.stat()).size;
  const child = spawnServer(server, files);
  const deadline = Date.now() + startTimeoutSeconds * 1000;
  // Only the child's own output proves that it listens: a response could come from another server at the address.
  while (!(await readFrom(files.output, 0)).includes("Hearth is listening on")) {
    const hasExited = child.exitCode !== null || child.signalCode !== null;
    if (hasExited && (await isReachable(server))) return "found";
    if (hasExited || Date.now() > deadline) {
      child.kill();
      const lines = plainLines(await readFrom(files.log, logStart));
      throw callFailure({ kind: "server-start-failed", lines, exitCode: child.exitCode });
    }
    await sleep(pollIntervalMilliseconds);
  }
  await writePidFile(server.address, child.pid ?? 0);
  return "started";
}

/** Sends SIGTERM, and SIGKILL after a grace period. A process that has reused the PID is not touched. */
export async function stopBackgroundServer(address: ServerAddress, running: BackgroundServer): Promise<void> {
  const { pid } = running;
  if (await isStillRunning(running)) process.kill(pid, "SIGTERM");
  const deadline = Date.now() + stopGraceSeconds * 1000;
  while ((await isStillRunning(running)) && Date.now() < deadline) await sleep(pollIntervalMilliseconds);
  if (await isStillRunning(running)) process.kill(pid, "SIGKILL");
  await removePidFile(address);
}

type StartFiles = AsyncDisposable & {
  /** The child's standard output; unlinked, so that no other process can open it. */
  readonly output: FileHandle;
  /** The child's standard error, so that crash messages end up in the log. */
  readonly log: FileHandle;
};

async function openStartFiles(): Promise<StartFiles> {
  const { log } = appPaths();
  const folder = dirname(log);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await using stack = new AsyncDisposableStack();
    const outputPath = `${folder}/starting-${randomUUID()}`;
    const output = stack.use(await open(outputPath, "a+", 0o600));
    await unlink(outputPath);
    const files = { output, log: stack.use(await open(log, "a+", 0o600)) };
    const opened = stack.move();
    return { ...files, [Symbol.asyncDispose]: () => opened.disposeAsync() };
  } catch (error) {
    const reason = explainFileError(error);
    if (reason === undefined) throw error;
    throw callFailure({ kind: "app-folder-unusable", folder: "~/.hearth/logs", reason }, { cause: error });
  }
}

function spawnServer({ address, apiKeyFile }: ServerClient, { output, log }: StartFiles): ChildProcess {
  const host = address.host.replaceAll(/^\[|\]$/gu, "");
  const args = ["serve", "--host", host, "--port", String(address.port), "--log-file", appPaths().log];
  const child = spawn(process.execPath, [process.argv[1] ?? "", ...args], {
    detached: true,
    stdio: ["ignore", output.fd, log.fd],
    env: serverEnvironment(apiKeyFile),
  });
  child.unref();
  return child;
}

/** Reads through the handle, because the log may be rotated in the meantime. */
async function readFrom(file: FileHandle, position: number): Promise<string> {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(maxReadBytes), position });
  return buffer.toString("utf8", 0, bytesRead);
}

/** The last lines that are neither JSON log lines nor stack frames. */
function plainLines(text: string): readonly string[] {
  const plain = text.split("\n").filter((line) => line !== "" && !/^(?:\{|\s+at )/u.test(line));
  return plain.slice(-maxReportedLines);
}
