import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordFigure } from "@hearth-and-keep/figures";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findCanaries, type Haystack, readFolder } from "../../test/canaries.ts";
import { type OpenedVault, openVault } from "../../test/open-vault.ts";
import { finish, type Machine, openMachine, type RunOptions } from "../test/machine.ts";
import { patternsOf } from "../test/written-forms.ts";

const canary = "canary-Zq8/vW+xT2 & \"ü\" 'end'";
const plain = "canary-4f9b2c7e81d3";
const needles = [plain, "canary-Zq8/vW+xT2"];

let vault: OpenedVault;
let machine: Machine;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  vault = await openVault();
  machine = await openMachine(vault);
  await mkdir(join(machine.home, "temporary"));
  environment = {
    KEEP_TOKEN: vault.token.text,
    KEEP_SERVER: vault.url,
    KEEP_VAULT: vault.person.vaultId,
    TMPDIR: join(machine.home, "temporary"),
  };
  await vault.write("/app/CANARY", canary);
  await vault.write("/app/PLAIN", plain);
});
afterAll(async () => {
  await machine[Symbol.asyncDispose]();
  await vault[Symbol.asyncDispose]();
});

const run = (args: readonly string[], options: RunOptions = {}) =>
  machine.keep(["run", "--folder", "/app", ...args], {
    ...options,
    environment: { ...environment, ...options.environment },
  });

/** Command lines and environments of all processes but these. */
async function readProcesses(except: readonly number[]): Promise<readonly Haystack[]> {
  const ids = (await readdir("/proc")).filter(
    (name) => /^\d+$/u.test(name) && !except.includes(Number(name)),
  );
  const files = ids.flatMap((id) => ["cmdline", "environ"].map((name) => `/proc/${id}/${name}`));
  // Processes end while they are read.
  const read = files.map(async (name) => ({
    name,
    content: await readFile(name).catch(() => Buffer.alloc(0)),
  }));
  return Promise.all(read);
}

async function filterOf(id: number | "self" | undefined): Promise<string> {
  return (await readFile(`/proc/${id}/coredump_filter`, "utf8")).trim();
}

const searched: { places: number; bytes: number; hits: string[] } = { places: 0, bytes: 0, hits: [] };

function search(haystacks: readonly Haystack[]): void {
  searched.places += haystacks.length;
  searched.bytes += haystacks.reduce((sum, { content }) => sum + content.length, 0);
  searched.hits.push(
    ...findCanaries(haystacks, needles).map(({ source, encoding }) => `${source} (${encoding})`),
  );
}

const asHaystack = (name: string, text: string): Haystack => ({ name, content: Buffer.from(text) });

test("values are in no command line and no environment but the program's, and not in a core dump of Keep", async () => {
  const script = 'echo "$$ $(cat /proc/self/coredump_filter)"; exec sleep 60';
  const child = machine.start(["run", "--folder", "/app", "--", "sh", "-c", script], { environment });
  const finished = finish(child);
  // A child's output is a readable stream of buffers.
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const [id = "", programFilter] = line.toString("utf8").trim().split(" ");
  search(await readProcesses([Number(id)]));
  const planted = { name: "program", content: await readFile(`/proc/${id}/environ`) };
  expect(findCanaries([planted], [plain])).toHaveLength(1);
  // The kernel writes no memory of Keep, and of the program what it would without Keep.
  expect([await filterOf(child.pid), programFilter]).toEqual(["00000000", await filterOf("self")]);
  child.kill("SIGTERM");
  await finished;
});

test("values are not in files, shell history, logs or reports of crashes", { timeout: 120_000 }, async () => {
  const options = { environment: { NODE_OPTIONS: "--report-on-signal --report-uncaught-exception" } };
  const file = join(machine.project, "value");
  await writeFile(file, plain);
  const history = join(machine.home, ".bash_history");
  const program = new URL("../../../bin/keep.js", import.meta.url).pathname;
  const lines = [
    "set -o history",
    `${process.execPath} ${program} set /typed --file ${file}`,
    `${process.execPath} ${program} run --folder /app --offline -- true`,
    "history -a",
  ];
  const shell = await machine.keep(["run", "--folder", "/none", "--", "bash", "-c", lines.join("\n")], {
    environment: { ...environment, HISTFILE: history },
  });
  // The inner commands have no token, because variables of Keep are not passed on.
  expect(shell.stderr).toContain("No server is set");
  const results = [
    await run(["--offline", "--", "true"], options),
    await run(["--", "sh", "-c", "kill -USR2 $PPID; sleep 0.3"], options),
    await run(["--", "no-such-program"], options),
    await run(["--only", "PLAIN,NONE", "--", "true"], options),
    await run(["--mount", "mounted", "--", "true"], options),
    await machine.keep(["set", "/typed", "--file", file], { environment }),
    await machine.keep(["set", "/typed"], { environment, input: plain }),
    await machine.keep(["list", "--recursive"], { environment }),
    await machine.keep(["diff", "/typed"], { environment }),
    await machine.keep(["get", "/NONE"], { environment }),
  ];
  await writeFile(file, "");
  search(results.flatMap(({ stdout, stderr }, index) => [asHaystack(`output ${index}`, stdout + stderr)]));
  search([asHaystack("log of the server", vault.logLines.join("\n"))]);
  search(await readFolder(machine.home));
  expect(await readFile(history, "utf8")).toContain("run --folder");
});

test("values are not in redacted output, in whatever form and wherever it is split", async () => {
  const script = `
    const forms = ${JSON.stringify(patternsOf(canary))};
    const write = (text) => new Promise((resolve) => process.stdout.write(text, () => setTimeout(resolve, 2)));
    for (const form of forms) {
      await write("\\n");
      const bytes = Buffer.from(form);
      const at = Math.floor(Math.random() * bytes.length);
      for (const part of [bytes.subarray(0, at), bytes.subarray(at)]) if (part.length > 0) await write(part);
    }
    for (const byte of Buffer.from(process.env.CANARY)) process.stderr.write(Buffer.of(byte));
  `;
  const args = ["--redact", "--", "node", "--input-type=module", "-e", script];
  const { code, stdout, stderr } = await run(args);
  expect(code).toBe(0);
  expect(stdout.split("[hidden]")).toHaveLength(patternsOf(canary).length + 1);
  search([asHaystack("redacted output", stdout + stderr)]);
});

test("a planted value is found, and none of the others", async () => {
  const planted = await run(["--", "sh", "-c", 'echo "$PLAIN"; printf "%s" "$CANARY" | base64']);
  expect(findCanaries([asHaystack("planted", planted.stdout)], needles).length).toBeGreaterThanOrEqual(2);
  expect(searched.hits).toEqual([]);
  recordFigure({
    claim: "client 4",
    text: `${searched.hits.length} hits in ${searched.places} places of ${(searched.bytes / 1e6).toFixed(1)} MB, and a planted value is found`,
    counted: { reached: searched.hits.length === 0 ? searched.places : 0, needed: 50 },
  });
});
