import { execFile } from "node:child_process";
import { chmod, chown, cp, mkdir, realpath, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AttackedServerReport } from "./fixtures/attacked-server.ts";
import { nobodyUserId } from "./machine.ts";

type Form = {
  readonly name: string;
  readonly sandbox: "as found" | "without bubblewrap" | "unprotected";
  /** What starts the server: as which user, with which capabilities. */
  readonly start: readonly string[];
  readonly user: number;
  readonly protection: string;
};

const asUser = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", "--inh-caps=-all"];
/** The capabilities that a container has unless it is given more. */
const containerCapabilities =
  "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap";
const inContainer = ["setpriv", `--bounding-set=${containerCapabilities}`];

const forms: readonly Form[] = [
  {
    name: "root, with bubblewrap",
    sandbox: "as found",
    start: [],
    user: nobodyUserId,
    protection: "sandboxed by bubblewrap and seccomp, as another user",
  },
  {
    name: "a user, with bubblewrap",
    sandbox: "as found",
    start: asUser,
    user: 65_533,
    protection: "sandboxed by bubblewrap and seccomp, as the same user as the server",
  },
  {
    name: "root, without bubblewrap",
    sandbox: "without bubblewrap",
    start: [],
    user: nobodyUserId,
    protection: "restricted by Landlock and seccomp, as another user",
  },
  {
    name: "a user, without bubblewrap",
    sandbox: "without bubblewrap",
    start: asUser,
    user: 65_533,
    protection: "restricted by Landlock and seccomp, as the same user as the server",
  },
  {
    name: "root in a container, where bubblewrap is not permitted",
    sandbox: "as found",
    start: inContainer,
    user: nobodyUserId,
    protection: "restricted by Landlock and seccomp, as another user",
  },
];

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

let program: Awaited<ReturnType<typeof makeTemporaryFolder>>;

/** A Node.js and bundles that every user can read; a clone can be in a private folder. */
beforeAll(async () => {
  program = await makeTemporaryFolder("forms");
  await chmod(program.path, 0o755);
  const bundle = await rolldown({
    input: {
      "attacked-server": pathOf("fixtures/attacked-server.ts"),
      attacks: pathOf("fixtures/attacks.ts"),
      "engine/worker/run-restricted": pathOf("../restriction/run-restricted.ts"),
    },
    platform: "node",
    external: /^@koromix\//u,
  });
  await bundle.write({ dir: program.path, format: "esm" });
  await bundle.close();
  await writeFile(join(program.path, "package.json"), '{ "type": "module" }');
  await cp(await realpath(process.execPath), join(program.path, "node"));
  const native = `@koromix/koffi-linux-${process.arch}`;
  const installed = dirname(createRequire(import.meta.url).resolve(`${native}/package.json`));
  await cp(installed, join(program.path, "node_modules", native), { recursive: true });
}, 60_000);

afterAll(() => program[Symbol.asyncDispose]());

let started = 0;

async function attack({ sandbox, start }: Pick<Form, "sandbox" | "start">): Promise<AttackedServerReport> {
  await using folder = await makeTemporaryFolder("attack");
  await chmod(folder.path, 0o777);
  await writeFile(join(folder.path, "secret"), "canary-of-the-server");
  await mkdir(join(folder.path, "open"));
  await writeFile(join(folder.path, "open/file"), "unchanged");
  for (const name of ["open", "open/file"]) {
    await chmod(join(folder.path, name), 0o777);
    await chown(join(folder.path, name), nobodyUserId, nobodyUserId);
  }
  const abstractName = `hearth-attack-${process.pid}-${++started}`;
  const command = [
    ...start,
    join(program.path, "node"),
    join(program.path, "attacked-server.js"),
    sandbox,
    folder.path,
    abstractName,
  ];
  const [file = "", ...args] = command;
  const options = { timeout: 60_000, env: { PATH: "/usr/bin:/bin", SECRET: "canary-of-the-server" } };
  const { stdout } = await promisify(execFile)(file, args, options);
  return JSON.parse(stdout);
}

test.each(forms)(
  "every attack from inside fails: $name",
  async ({ name, sandbox, start, user, protection }) => {
    const report = await attack({ sandbox, start });
    const count = Object.keys(report.failed).length;
    expect(report.succeeded).toEqual([]);
    expect(count).toBeGreaterThanOrEqual(30);
    expect(report.user).toBe(user);
    expect(report.protection).toBe(protection);
    expect(report.shared).toBe("from inside");
    for (const claim of ["guard 6", "engine 16"]) {
      recordFigure({
        claim,
        text: `${count} of ${count} attacks failed: ${name} (${protection})`,
        counted: { reached: count, needed: 30 },
      });
    }
  },
  90_000,
);

test("without protection the same attacks succeed, and each missing protection is named", async () => {
  const report = await attack({ sandbox: "unprotected", start: asUser });
  const alwaysFailing = ["find a secret in an inherited file", "find a secret in its environment"];
  expect(Object.keys(report.failed).toSorted()).toEqual(alwaysFailing);
  expect(report.protection).toBe("not sandboxed, as the same user as the server");
  expect(report.missing).toHaveLength(4);
  recordFigure({
    claim: "guard 6",
    text: `${report.succeeded.length} of ${report.succeeded.length + alwaysFailing.length} attacks succeed without protection`,
    counted: { reached: report.succeeded.length, needed: 28 },
  });
}, 90_000);
