import type { Finding, Rule, TextFile } from "../finding.ts";
import { readJson, stringAt } from "../json-text.ts";
import { isTest, typeScriptFiles } from "../source-tree.ts";

const name = "file-length";
const exceptionsPath = "checks/long-files.json";
const maxSourceLines = 400;
const maxTestLines = 600;

/** A source file has at most 400 lines and a test at most 600, unless long-files.json gives a reason. */
export const fileLength: Rule = {
  name,
  find(files) {
    const exceptions = files.find(({ path }) => path === exceptionsPath);
    const reasons = exceptions === undefined ? {} : readJson(exceptions);
    const long = typeScriptFiles(files).filter(isTooLong);
    const unexcused = long.filter(({ path }) => (stringAt(reasons, path) ?? "").trim() === "");
    const stale = Object.keys(reasons).filter((path) => !long.some((file) => file.path === path));
    return [...unexcused.map(report), ...stale.map((path) => reportStale(path, exceptions))];
  },
};

function isTooLong(file: TextFile): boolean {
  return lineCount(file) > bound(file);
}

function lineCount({ text }: TextFile): number {
  return text.replace(/\n$/u, "").split("\n").length;
}

function bound({ path }: TextFile): number {
  return isTest(path) ? maxTestLines : maxSourceLines;
}

function report(file: TextFile): Finding {
  const line = bound(file) + 1;
  const message = `Split the file: it has ${lineCount(file)} lines, more than ${bound(file)}`;
  return { path: file.path, line, rule: name, message };
}

function reportStale(path: string, exceptions: TextFile | undefined): Finding {
  const lines = exceptions?.text.split("\n") ?? [];
  const line = lines.findIndex((text) => text.includes(`"${path}"`)) + 1;
  return { path: exceptionsPath, line, rule: name, message: `Remove "${path}": it is not too long` };
}
