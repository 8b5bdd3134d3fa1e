import { dirname } from "node:path";
import type { Finding, Rule, TextFile } from "../finding.ts";
import { isTest, typeScriptFiles } from "../source-tree.ts";

const name = "module-notes";
const folders = /^(?:apps\/[^/]+\/src|packages\/[^/]+\/src|checks|claims|scripts|conformance|bench)(?:\/|$)/u;
const openingComment = /^(?:#![^\n]*\n)?\s*\/\*\*(?<note>[\s\S]*?)\*\//u;

/** Each folder with code has exactly one file that opens with a `@module` note of 3 to 10 lines. */
export const moduleNotes: Rule = {
  name,
  find(files) {
    const byFolder = Map.groupBy(
      typeScriptFiles(files).filter(({ path }) => folders.test(dirname(path)) && !isTest(path)),
      ({ path }) => dirname(path),
    );
    return [...byFolder].flatMap(([folder, members]) => findInFolder(folder, members));
  },
};

function findInFolder(folder: string, members: readonly TextFile[]): Finding[] {
  const noted = members.flatMap((file) => {
    const lines = noteLines(file);
    return lines === undefined ? [] : [{ path: file.path, lines }];
  });
  if (noted.length === 0) {
    const path = members[0]?.path ?? folder;
    return [{ path, line: 1, rule: name, message: `Open one file of "${folder}" with a @module note` }];
  }
  const surplus = noted.slice(1).map(({ path }) => ({
    path,
    line: 1,
    rule: name,
    message: `Keep one @module note in "${folder}"; "${noted[0]?.path}" has it already`,
  }));
  const misshapen = noted
    .filter(({ lines }) => lines < 3 || lines > 10)
    .map(({ path, lines }) => ({
      path,
      line: 1,
      rule: name,
      message: `Write the @module note in 3 to 10 lines; it has ${lines}`,
    }));
  return [...surplus, ...misshapen];
}

/** Counts the line with the tag, not the ones that only open and close the comment. */
function noteLines({ text }: TextFile): number | undefined {
  const note = openingComment.exec(text)?.groups?.["note"];
  if (note === undefined || !/(?:^|\s)@module\b/u.test(note)) return undefined;
  return note.split("\n").filter((line) => line.replace(/^\s*\*?\s*/u, "") !== "").length;
}
