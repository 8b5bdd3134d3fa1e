import { dirname, normalize } from "node:path/posix";
import type { Finding, Rule, TextFile } from "../finding.ts";
import { anchorsIn, linksIn } from "../markdown.ts";
import { isFixture } from "../source-tree.ts";

const name = "markdown-links";

/** Every link between pages of the repository resolves, including its anchor. */
export const markdownLinks: Rule = {
  name,
  find(files) {
    const byPath = new Map(files.map((file) => [file.path, file]));
    const folders = new Set(files.flatMap(({ path }) => parentsOf(path)));
    return files
      .filter(({ path }) => path.endsWith(".md") && !isFixture(path))
      .flatMap((page) => findInPage(page, { byPath, folders }));
  },
};

type Repository = { readonly byPath: ReadonlyMap<string, TextFile>; readonly folders: ReadonlySet<string> };

function findInPage(page: TextFile, repository: Repository): Finding[] {
  return linksIn(page.text).flatMap(({ target, line }) => {
    const problem = problemOf(target, page, repository);
    return problem === undefined ? [] : [{ path: page.path, line, rule: name, message: problem }];
  });
}

function problemOf(target: string, page: TextFile, repository: Repository): string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|\/\/)/iu.test(target)) return undefined;
  const [address = "", anchor] = target.split("#", 2);
  const path = address === "" ? page.path : pathOf(decode(address), page);
  const file = repository.byPath.get(path);
  if (file === undefined) {
    return repository.folders.has(path) ? undefined : `Point "${target}" at something that exists`;
  }
  if (anchor === undefined || hasAnchor(file, decode(anchor))) return undefined;
  return `Point "${target}" at an anchor that exists in "${path}"`;
}

function pathOf(address: string, page: TextFile): string {
  const path = address.startsWith("/") ? address.slice(1) : `${dirname(page.path)}/${address}`;
  return normalize(path).replace(/\/$/u, "");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray percent sign is part of the name.
    return text;
  }
}

function hasAnchor(file: TextFile, anchor: string): boolean {
  if (file.path.endsWith(".md")) return anchorsIn(file.text).has(anchor);
  const lines = /^L(?<first>\d+)(?:-L(?<last>\d+))?$/u.exec(anchor)?.groups;
  const last = Number(lines?.["last"] ?? lines?.["first"] ?? Number.NaN);
  return last >= 1 && last <= file.text.split("\n").length;
}

function parentsOf(path: string): string[] {
  const segments = path.split("/");
  return [".", ...segments.slice(1).map((_, index) => segments.slice(0, index + 1).join("/"))];
}
