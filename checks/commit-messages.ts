import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Finding } from "./finding.ts";

type Commit = {
  readonly hash: string;
  /** The message, line by line; the first line is the subject. */
  readonly lines: readonly string[];
};

type Problem = { readonly line: number; readonly message: string };

export const commitMessagesName = "commit-messages";

/** Commits up to this one predate the rule. */
const lastUnchecked = "afe00661876942da13f758930bef826f43117e7d";
const maxSubjectCharacters = 72;
const minSentenceWords = 4;

const run = promisify(execFile);

/** The subject is `area: imperative summary`, and a body after a blank line explains why. */
export async function findCommitMessages(folder: string): Promise<readonly Finding[]> {
  const commits = await listCheckedCommits(folder);
  return commits.flatMap((commit) =>
    problemsOf(commit.lines).map(({ line, message }) => ({
      path: `commit "${commit.lines[0]}"`,
      line,
      rule: commitMessagesName,
      message: `${message} (${commit.hash.slice(0, 9)})`,
    })),
  );
}

/**
 * The commits up to HEAD that are newer than the rule, without merges. A shallow clone that does not reach back that
 * far contains only newer ones; without a history there are none.
 */
export async function listCheckedCommits(folder: string): Promise<readonly Commit[]> {
  if (!existsSync(join(folder, ".git")) || !(await hasCommit(folder, "HEAD"))) return [];
  const range = (await hasCommit(folder, lastUnchecked)) ? [`${lastUnchecked}..HEAD`] : ["HEAD"];
  const { stdout } = await git(folder, ["log", "--no-merges", "--format=%H%n%B%x00", ...range]);
  return stdout
    .split("\0")
    .map((text) => text.trim().split("\n"))
    .flatMap(([hash = "", ...lines]) => (hash === "" ? [] : [{ hash, lines }]));
}

async function hasCommit(folder: string, name: string): Promise<boolean> {
  return git(folder, ["rev-parse", "--quiet", "--verify", `${name}^{commit}`]).then(
    () => true,
    () => false,
  );
}

function git(folder: string, args: readonly string[]): Promise<{ readonly stdout: string }> {
  // Explicit, because git hooks set GIT_DIR to the repository they run in.
  return run("git", ["--git-dir", join(folder, ".git"), ...args], {
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024,
  });
}

function problemsOf([subject = "", blank = "", ...body]: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  if (subject.length > maxSubjectCharacters) {
    const message = `Shorten the subject: it has ${subject.length} characters, more than ${maxSubjectCharacters}`;
    problems.push({ line: 1, message });
  }
  if (!hasSubjectForm(subject)) {
    problems.push({
      line: 1,
      message: 'Write the subject as "area: imperative summary", without a full stop',
    });
  }
  if (blank !== "") {
    problems.push({ line: 2, message: "Leave the second line blank" });
  }
  if (!hasSentence([blank, ...body])) {
    problems.push({ line: 3, message: "Explain why in the body, in at least one sentence" });
  }
  return problems;
}

/** Areas are paths or names, comma-separated. */
const subjectForm = /^[\w.@{}*-]+(?:\/[\w.@{}*-]+)*(?:, [\w./@{}*-]+)*: (?<verb>[a-z][a-z-]*) .*[^.\s]$/u;
/** Past tense, progressive, third person, or not a verb. */
const notImperative =
  /^(?:\w+(?:ed|ing)|\w*[^aisu\W]s|(?:a|an|the|this|that|our|new|no|not|more|some|all|for|in|on|with|when|now|is))$/u;
const imperative = new Set(
  "bring ping string embed feed need seed shed speed exceed proceed succeed".split(" "),
);

function hasSubjectForm(subject: string): boolean {
  const verb = subjectForm.exec(subject)?.groups?.["verb"];
  return verb !== undefined && (imperative.has(verb) || !notImperative.test(verb));
}

/** Trailers such as `Signed-off-by: …` are not sentences. */
function hasSentence(body: readonly string[]): boolean {
  const text = body.filter((line) => !/^[A-Z][\w-]+: /u.test(line)).join(" ");
  return text
    .split(/(?<=[.!?])(?:\s|$)/u)
    .some((sentence) => /[.!?]$/u.test(sentence) && sentence.trim().split(/\s+/u).length >= minSentenceWords);
}
