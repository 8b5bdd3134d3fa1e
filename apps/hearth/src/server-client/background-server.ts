import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { explainFileProblem } from "@hearth-and-keep/failures";
import { ownFiles } from "./app-paths.ts";
import { callFailure, isCallFailure } from "./call-failure.ts";
import type { ServerCaller } from "./call-server.ts";
import { environmentForServer } from "./config.ts";
import { type BackgroundServer, forgetServer, isStillRunning, noteServer } from "./pid-files.ts";
import type { ServerAddress } from "./server-address.ts";

const longestStartSeconds = 30;
const lookEveryMilliseconds = 50;
const stopGraceSeconds = 40;
const mostReadBytes = 64 * 1024;
const mostToldLines = 4;

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
 * Starts `hearth serve` at the address the commands call, in the background, and waits until it listens. It stays when
 * this program and its terminal are gone. `found` when another command was quicker: then that server is the one.
 */
export async function startBackgroundServer(server: ServerCaller): Promise<"started" | "found"> {
  await using files = await openStartFiles();
  const logStart = (await files.log.stat()).size;
  const child = startServing(server, files);
  const deadline = Date.now() + longestStartSeconds * 1000;
  // Only its own word tells that this child listens: whoever answers at the address may be somebody else's.
  while (!(await readFrom(files.output, 0)).includes("Hearth listens on")) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    if (hasEnded && (await isAnswering(server))) return "found";
    if (hasEnded || Date.now() > deadline) {
      child.kill();
      const lines = plainLines(await readFrom(files.log, logStart));
      throw callFailure({ kind: "server-start-failed", lines, exitCode: child.exitCode });
    }
    await sleep(lookEveryMilliseconds);
  }
  await noteServer(server.address, child.pid ?? 0);
  return "started";
}

/** Another program that has its number by now is left alone. */
export async function stopBackgroundServer(address: ServerAddress, running: BackgroundServer): Promise<void> {
  const { pid } = running;
  if (await isStillRunning(running)) process.kill(pid, "SIGTERM");
  const deadline = Date.now() + stopGraceSeconds * 1000;
  while ((await isStillRunning(running)) && Date.now() < deadline) await sleep(lookEveryMilliseconds);
  if (await isStillRunning(running)) process.kill(pid, "SIGKILL");
  await forgetServer(address);
}

type StartFiles = AsyncDisposable & {
  /** Of standard output; nobody else can open it. */
  readonly output: FileHandle;
  /** What a crash says goes to the same file as the log. */
  readonly log: FileHandle;
};

async function openStartFiles(): Promise<StartFiles> {
  const { log } = ownFiles();
  const folder = dirname(log);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    await using stack = new AsyncDisposableStack();
    const place = `${folder}/starting-${randomUUID()}`;
    const output = stack.use(await open(place, "a+", 0o600));
    await unlink(place);
    const opened = { output, log: stack.use(await open(log, "a+", 0o600)) };
    const kept = stack.move();
    return { ...opened, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  } catch (problem) {
    const reason = explainFileProblem(problem);
    if (reason === undefined) throw problem;
    throw callFailure({ kind: "own-folder-unusable", folder: "~/.hearth/logs", reason }, { cause: problem });
  }
}

function startServing({ address, apiKeyFile }: ServerCaller, { output, log }: StartFiles): ChildProcess {
  const words = ["serve", "--host", address.host.replaceAll(/^\[|\]$/gu, ""), "--port", String(address.port)];
  const child = spawn(process.execPath, [process.argv[1] ?? "", ...words, "--log-file", ownFiles().log], {
    detached: true,
    stdio: ["ignore", output.fd, log.fd],
    env: environmentForServer(apiKeyFile),
  });
  child.unref();
  return child;
}

/** By the handle, because the log may be put aside under another name meanwhile. */
async function readFrom(file: FileHandle, position: number): Promise<string> {
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(mostReadBytes), position });
  return buffer.toString("utf8", 0, bytesRead);
}

/** Without the log's own lines, which are JSON, and without a stack. */
function plainLines(text: string): readonly string[] {
  const plain = text.split("\n").filter((line) => line !== "" && !/^(?:\{|\s+at )/u.test(line));
  return plain.slice(-mostToldLines);
}
