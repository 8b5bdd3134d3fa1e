import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { childEnvironment, makeTemporaryFolder, type TemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OpenedVault, openVault } from "../../apps/keep/src/test/open-vault.ts";
import { readBlocks } from "./documented-blocks.ts";

type Settings = {
  readonly "terminal.integrated.profiles.linux": {
    readonly keep: { readonly path: string; readonly args: readonly string[] };
  };
};
type Launch = {
  readonly configurations: readonly [
    { readonly runtimeExecutable: string; readonly runtimeArgs: readonly string[] },
  ];
};

const run = promisify(execFile);
const keepProgram = join(import.meta.dirname, "../../apps/keep/bin/keep.js");
/** Prints what a program of the recipe got; `app` and `docker` are this one. */
const stubProgram = `#!/bin/sh
printf '%s|' "$0" "$@" "DATABASE_URL=$DATABASE_URL" "TOKEN=$KEEP_TOKEN"
`;

let vault: OpenedVault;
let folder: TemporaryFolder;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  vault = await openVault();
  folder = await makeTemporaryFolder("recipes");
  const programs = join(folder.path, "programs");
  await mkdir(programs);
  const write = async (name: string, content: string) => {
    await writeFile(join(programs, name), content);
    await chmod(join(programs, name), 0o755);
  };
  await write("keep", `#!/bin/sh\nexec "${process.execPath}" "${keepProgram}" "$@"\n`);
  for (const name of ["app", "docker"]) await write(name, stubProgram);
  const { PATH = "", ...others } = childEnvironment();
  environment = {
    ...others,
    PATH: `${programs}${delimiter}${PATH}`,
    HOME: folder.path,
    KEEP_SERVER: vault.url,
    KEEP_VAULT: vault.person.vaultId,
  };
  await vault.write("/DATABASE_URL", "canary-root");
  await vault.write("/DATABASE_PASSWORD", "canary-password");
  await vault.write("/prod/api/DATABASE_URL", "canary-prod");
  await vault.write("/dev/DATABASE_URL", "canary-dev");
});
afterAll(async () => {
  await folder[Symbol.asyncDispose]();
  await vault[Symbol.asyncDispose]();
});

async function runShell(command: string, extra: Readonly<Record<string, string>> = {}): Promise<string> {
  const env = { ...environment, KEEP_TOKEN: vault.token.text, ...extra };
  return (await run("/bin/sh", ["-c", command], { cwd: folder.path, env })).stdout;
}

/** Each recipe starts the command line, so that CI has one of them. */
const recipes = chooseSize({ ci: [], show: ["as documented"], nightly: ["as documented"] });

/** Only programs that this machine has. */
const installed = ["systemd-analyze", "terraform"].filter(
  (program) => spawnSync(program, ["--version"], { env: childEnvironment() }).error === undefined,
);

test("the unit of systemd starts the program with its secrets and without the token", async () => {
  const [unit = ""] = await readBlocks("systemd", "ini");
  const [, command = ""] = /^ExecStart=\/bin\/sh -c '(.*)'$/mu.exec(unit) ?? [];
  await writeFile(join(folder.path, "keep-token"), vault.token.text);
  const started = command.replaceAll("$$", "$").replaceAll("%d", folder.path);
  expect(await runShell(started, { KEEP_TOKEN: "" })).toMatch(/app\|DATABASE_URL=canary-prod\|TOKEN=\|$/u);
  const others = recipes.length === 0 ? "" : ", Docker, VS Code and Terraform";
  recordFigure({ claim: "client 7", text: `recipes that ran as documented: systemd${others}` });
});

test.each(installed.filter((program) => program === "systemd-analyze"))(
  "%s accepts the unit",
  async (program) => {
    const [unit = ""] = await readBlocks("systemd", "ini");
    const file = join(folder.path, "app.service");
    const verify = async (content: string) => {
      await writeFile(file, content);
      return (await run(program, ["verify", "--man=no", file])).stderr;
    };
    expect(await verify(unit)).not.toContain("app.service");
    expect(await verify(unit.replace("LoadCredentialEncrypted", "LoadCredentials"))).toContain("app.service");
  },
);

test.each(recipes)(
  "commands of Docker get the secret as a variable and never as an argument, %s",
  async () => {
    const commands = await readBlocks("Docker and Compose", "sh");
    for (const command of commands) {
      const [program, ...printed] = (await runShell(command)).split("|").filter((text) => text !== "");
      expect(program).toMatch(/docker$/u);
      expect(printed.slice(0, -2).join(" ")).not.toContain("canary");
      expect(printed.slice(-2)).toEqual(["DATABASE_URL=canary-root", "TOKEN="]);
    }
  },
);

test.each(recipes)(
  "the settings of VS Code start programs with the secrets of the environment, %s",
  async () => {
    const [settings = "", launch = ""] = await readBlocks("VS Code", "json");
    // As the page shows them.
    const { "terminal.integrated.profiles.linux": profiles } = JSON.parse(settings) as Settings;
    const { path, args } = profiles.keep;
    // As the page shows them.
    const [{ runtimeExecutable, runtimeArgs }] = (JSON.parse(launch) as Launch).configurations;
    const terminal = `${path} ${args.join(" ")} -c 'printf %s "$DATABASE_URL"'`;
    const debugged = `${runtimeExecutable} ${runtimeArgs.join(" ")} -p process.env.DATABASE_URL`;
    expect([await runShell(terminal), (await runShell(debugged)).trim()]).toEqual([
      "canary-dev",
      "canary-dev",
    ]);
  },
);

test.each(recipes)("Terraform gets the variable, %s", async () => {
  const [command = ""] = await readBlocks("Terraform", "sh");
  const printed = await runShell(command.replace("terraform apply", "env"));
  expect(printed).toMatch(/^TF_VAR_DATABASE_PASSWORD=canary-password$/mu);
});

const used = `
resource "terraform_data" "used" {
  input = "checked"
  lifecycle {
    precondition {
      condition     = var.DATABASE_PASSWORD == "canary-password"
      error_message = "another value"
    }
  }
}
`;

test.each(recipes.length === 0 ? [] : installed.filter((program) => program === "terraform"))(
  "%s uses the ephemeral variable and writes its value to no file",
  async () => {
    const [variable = ""] = await readBlocks("Terraform", "hcl");
    const [command = ""] = await readBlocks("Terraform", "sh");
    const project = join(folder.path, "terraform");
    await mkdir(project);
    await writeFile(join(project, "main.tf"), variable + used);
    const apply = command.replace("terraform apply", "terraform apply -auto-approve -no-color");
    const quiet = { CHECKPOINT_DISABLE: "1", TF_IN_AUTOMATION: "1" };
    await runShell(`cd terraform && terraform init -no-color && ${apply}`, quiet);
    const state = await readFile(join(project, "terraform.tfstate"), "utf8");
    expect([state.includes("checked"), state.includes("canary")]).toEqual([true, false]);
    const refused = runShell("cd terraform && TF_VAR_DATABASE_PASSWORD=x terraform plan -no-color", quiet);
    await expect(refused).rejects.toMatchObject({ stderr: expect.stringContaining("another value") });
  },
);
