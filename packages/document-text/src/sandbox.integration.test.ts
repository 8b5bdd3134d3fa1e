import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { inspectMachine, killLaunch, type Machine, spawnLaunch } from "@hearth-and-keep/engine-host";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import type { Report, Targets } from "./fixtures/attacks.ts";
import { defaultPdfLimits } from "./pdf-limits.ts";
import { planJob } from "./plan-job.ts";
import { writeRequest } from "./worker/wire-format.ts";

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const attacks = pathOf("fixtures/attacks.ts");
const secretVariable = "canary-of-the-server";

/** Starts the attacks as the reader starts the parser, with everything in reach that they look for. */
async function attack(machine: Machine): Promise<Report> {
  await using folder = await makeTemporaryFolder("pdf-attack");
  const at = (name: string): string => join(folder.path, name);
  const [secretFile, openFolder, openFile, unixSocket] = [
    at("secret"),
    at("open"),
    at("open/file"),
    at("socket"),
  ];
  await mkdir(openFolder);
  await writeFile(secretFile, secretVariable);
  await writeFile(openFile, "unchanged");
  for (const path of [folder.path, openFolder, openFile]) await chmod(path, 0o777);
  const [tcp, unix] = [await listen({ host: "127.0.0.1", port: 0 }), await listen({ path: unixSocket })];
  const bystander = spawn("sleep", ["60"], { stdio: "ignore" });
  const targets: Targets = {
    secretFile,
    serverSource: pathOf("pdf-reader.ts"),
    secretVariable,
    openFolder,
    openFile,
    // A listening TCP server has an address of this type.
    tcpPort: (tcp.address() as AddressInfo).port,
    unixSocket,
    server: process.pid,
    bystander: bystander.pid ?? 0,
  };
  try {
    return await runAttacks(machine, targets);
  } finally {
    bystander.kill("SIGKILL");
    for (const server of [tcp, unix]) server.close();
  }
}

async function runAttacks(machine: Machine, targets: Targets): Promise<Report> {
  const program = { path: attacks, args: [], readablePaths: [attacks, pathOf("../package.json")] };
  const plan = planJob({ machine, memoryBytes: defaultPdfLimits.memoryBytes, cgroup: undefined, program });
  const child = spawnLaunch(plan, ["pipe", "pipe", "inherit"]);
  try {
    if (child.stdin === null || child.stdout === null) throw new Error("The child has no pipes");
    writeRequest(child.stdin, Buffer.from(JSON.stringify(targets)));
    return JSON.parse(await text(child.stdout));
  } finally {
    killLaunch(child);
  }
}

async function listen(
  where: { readonly path: string } | { readonly host: string; readonly port: number },
): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).listen(where);
  await once(server, "listening");
  return server;
}

test("a parser that its document has taken over reaches no file, no network and no process", async () => {
  const { succeeded, failed } = await attack(inspectMachine());
  const count = Object.keys(failed).length;
  expect(succeeded).toEqual([]);
  expect(count).toBe(22);
  recordFigure({
    claim: "agents 9",
    text: `${count} of ${count} attacks from inside the process that reads a PDF failed`,
    counted: { reached: count, needed: 22 },
  });
});

test("without the sandbox the same attacks succeed, except those that Node.js itself prevents", async () => {
  const machine = {
    ...inspectMachine(),
    bubblewrap: undefined,
    restrictedStart: undefined,
    isRoot: false,
    prlimit: undefined,
  };
  const { failed } = await attack(machine);
  expect(Object.keys(failed)).toEqual([
    "find a secret in its environment",
    "load native code",
    "compile text as code",
  ]);
});
