import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { Check, Finding } from "./finding.ts";
import { repositoryFolder } from "./source-tree.ts";

type Tool = {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Matches one problem in its output; the groups are `path`, `line` and `message`. */
  readonly problem: RegExp;
};

const programs = join(repositoryFolder, "node_modules/.bin");

/** The tools that CI runs on the whole tree, with the settings they have there. */
const tools: readonly Tool[] = [
  {
    name: "formatter",
    program: join(programs, "biome"),
    args: ["ci", `--config-path=${repositoryFolder}`, "--vcs-enabled=false", "--reporter=github", "packages"],
    problem: /^::error .*?file=(?<path>[^,]+),line=(?<line>\d+).*?::(?<message>.*)$/gmu,
  },
  {
    name: "linter",
    program: join(programs, "oxlint"),
    args: ["--type-aware", "--config", join(repositoryFolder, ".oxlintrc.json"), "--format=unix", "packages"],
    problem: /^(?<path>[^:\n]+):(?<line>\d+):\d+: (?<message>.*)$/gmu,
  },
  {
    name: "types",
    program: join(programs, "tsc"),
    args: ["--noEmit", "--pretty", "false"],
    problem: /^(?<path>[^(\n]+)\((?<line>\d+),\d+\): (?<message>error TS.*)$/gmu,
  },
];

/** Verifies on small trees that each tool's configuration is in effect; CI runs the tools on the real tree. */
export const toolChecks: readonly Check[] = tools.map((tool) => ({
  name: tool.name,
  case: tool.name,
  find: (folder) => runTool(tool, folder),
}));

async function runTool(tool: Tool, folder: string): Promise<readonly Finding[]> {
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const inherited = { extends: join(repositoryFolder, "tsconfig.base.json") };
  const settings = { ...inherited, compilerOptions: { types: [] }, include: ["packages"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(settings));
  const output = await runForOutput(tool, folder);
  return [...output.matchAll(tool.problem)].map(({ groups }) => ({
    path: relative(folder, resolve(folder, groups?.["path"] ?? "")),
    line: Number(groups?.["line"]),
    rule: tool.name,
    message: groups?.["message"] ?? "",
  }));
}

/** A non-zero exit code means that the tool has findings; only a failure to run is an error. */
function runForOutput({ program, args }: Tool, folder: string): Promise<string> {
  // By default the linter searches for its helper next to the files it reads, which are outside the clone here.
  const helper = { OXLINT_TSGOLINT_PATH: join(programs, "tsgolint") };
  return new Promise((done, fail) => {
    execFile(program, [...args], { cwd: folder, env: { ...helper, PATH: programs } }, (error, stdout) => {
      if (error !== null && typeof error.code === "string") fail(error);
      else done(stdout);
    });
  });
}
