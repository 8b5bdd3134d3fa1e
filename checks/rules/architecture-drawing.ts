import type { Finding, Rule, TextFile } from "../finding.ts";
import { isFixture } from "../source-tree.ts";

const name = "architecture-drawing";
const documentPath = "ARCHITECTURE.md";
/** Folders that must be in the drawing. */
const drawnFolders = /^(?:apps\/[^/]+(?:\/src\/[^/]+)?|packages\/[^/]+|[a-z]+)$/u;

type DrawnPath = { readonly path: string; readonly line: number };

/** The tree in ARCHITECTURE.md shows every folder of the apps and packages, and nothing that does not exist. */
export const architectureDrawing: Rule = {
  name,
  find(files) {
    const document = files.find(({ path }) => path === documentPath);
    if (document === undefined) return [];
    const drawn = readDrawing(document);
    const paths = new Set(drawn.map(({ path }) => path));
    const existing = pathsOf(files);
    const missing = [...foldersOf(files)].filter((path) => drawnFolders.test(path) && !paths.has(path));
    return [
      ...drawn
        .filter(({ path }) => !existing.has(path))
        .map(({ path, line }) => at(line, `Remove "${path}": it does not exist`)),
      ...missing.toSorted().map((path) => at(drawn[0]?.line ?? 1, `Add the folder "${path}"`)),
    ];
  },
};

/** The first fenced block: two spaces of indentation per level, the name of a file or folder, then its description. */
function readDrawing({ text }: TextFile): DrawnPath[] {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.startsWith("```"));
  const end = lines.findIndex((line, index) => index > start && line.startsWith("```"));
  const folders: string[] = [];
  return lines.slice(start + 1, end).flatMap((line, index) => {
    const [, indentation = "", drawnName = ""] = /^( *)(\S+)/u.exec(line) ?? [];
    if (drawnName === "") return [];
    const depth = indentation.length / 2;
    folders.length = depth;
    folders.push(drawnName.replace(/\/$/u, ""));
    return [{ path: folders.join("/"), line: start + 2 + index }];
  });
}

/** Every committed file and folder. */
function pathsOf(files: readonly TextFile[]): ReadonlySet<string> {
  return new Set([...files.map(({ path }) => path), ...foldersOf(files)]);
}

/** Every folder with a committed file, except fixtures and hidden folders. */
function foldersOf(files: readonly TextFile[]): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const { path } of files) {
    if (isFixture(path) || path.startsWith(".")) continue;
    const segments = path.split("/");
    for (let count = 1; count < segments.length; count += 1) folders.add(segments.slice(0, count).join("/"));
  }
  return folders;
}

function at(line: number, message: string): Finding {
  return { path: documentPath, line, rule: name, message };
}
