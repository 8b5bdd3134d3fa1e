import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import type { Check, Finding } from "./finding.ts";
import { repositoryFolder } from "./source-tree.ts";

type Tool = {
  readonly name: string;
  readonly program: string;
  readonly words: readonly string[];
  /** One problem in what it prints; the groups are `path`, `line` and `message`. */
  readonly problem: RegExp;
};

const programs = join(repositoryFolder, "node_modules/.bin");

/** The tools that CI runs on the whole tree, with the settings they have there. */
const tools: readonly Tool[] = [
  {
    name: "formatter",
    program: join(programs, "biome"),
    words: [
      "ci",
      `--config-path=${repositoryFolder}`,
      "--vcs-enabled=false",
      "--reporter=github",
      "packages",
    ],
    problem: /^::error .*?file=(?<path>[^,]+),line=(?<line>\d+).*?::(?<message>.*)$/gmu,
  },
  {
    name: "linter",
    program: join(programs, "oxlint"),
    words: [
      "--type-aware",
      "--config",
      join(repositoryFolder, ".oxlintrc.json"),
      "--format=unix",
      "packages",
    ],
    problem: /^(?<path>[^:\n]+):(?<line>\d+):\d+: (?<message>.*)$/gmu,
  },
  {
    name: "types",
    program: join(programs, "tsc"),
    words: ["--noEmit", "--pretty", "false"],
    problem: /^(?<path>[^(\n]+)\((?<line>\d+),\d+\): (?<message>error TS.*)$/gmu,
  },
];

/** Shows on small trees that the settings of each tool are in force; on the real tree CI runs the tool itself. */
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
  const printed = await outputOf(tool, folder);
  return [...printed.matchAll(tool.problem)].map(({ groups }) => ({
    path: relative(folder, resolve(folder, groups?.["path"] ?? "")),
    line: Number(groups?.["line"]),
    rule: tool.name,
    message: groups?.["message"] ?? "",
  }));
}

/** A tool that finds something exits with an error; that is its answer, not a failure to run. */
function outputOf({ program, words }: Tool, folder: string): Promise<string> {
  // The linter looks for its helper beside the files it reads, which are not in the clone here.
  const helper = { OXLINT_TSGOLINT_PATH: join(programs, "tsgolint") };
  return new Promise((done, fail) => {
    execFile(program, [...words], { cwd: folder, env: { ...helper, PATH: programs } }, (problem, stdout) => {
      if (problem !== null && typeof problem.code === "string") fail(problem);
      else done(stdout);
    });
  });
}
