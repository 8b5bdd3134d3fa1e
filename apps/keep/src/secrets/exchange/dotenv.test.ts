import { FailureError } from "@hearth-and-keep/failures";
import { describe, expect, test } from "vitest";
import { readDotenv, writeDotenv } from "./dotenv.ts";
import type { FileContent, FileEntry } from "./file-entries.ts";

describe("what a .env file says", () => {
  test.for<[rule: string, content: string, read: Record<string, string>]>([
    ["a name, a sign and a value", "A=1\nB=two", { A: "1", B: "two" }],
    ["export before the name means nothing", "export A=1\n  export\tB=2", { A: "1", B: "2" }],
    ["blanks around the sign and after the value do not count", "A = 1 \nB=\t2\t", { A: "1", B: "2" }],
    [
      "a value may be empty, quoted or not",
      "A=\nB=''\nC=\"\"\nD= # none\nE=",
      {
        A: "",
        B: "",
        C: "",
        D: "",
        E: "",
      },
    ],
    [
      "single quotes take everything as it is",
      String.raw`A='a\nb $HOME "x" # no'`,
      {
        A: String.raw`a\nb $HOME "x" # no`,
      },
    ],
    [
      "double quotes take escapes",
      String.raw`A="a\nb\tc\rd\"e\\f\$g` + '\\`h"',
      {
        A: 'a\nb\tc\rd"e\\f$g`h',
      },
    ],
    [
      "a backslash before anything else is a backslash",
      String.raw`A="a\b\'\x"`,
      {
        A: String.raw`a\b\'\x`,
      },
    ],
    ["an escaped backslash does not escape what follows", String.raw`A="\\n"`, { A: String.raw`\n` }],
    ["quoted values go over several lines", "A='1\n2'\nB=\"3\n#4\"\nC=5", { A: "1\n2", B: "3\n#4", C: "5" }],
    ["nothing is expanded", `A=$HOME\nB="\${A}"\nC=$(id)`, { A: "$HOME", B: "${A}", C: "$(id)" }],
    ["a comment has a blank before it", "# one\n  # two\nA=b#c # three\nB='d' # four", { A: "b#c", B: "d" }],
    ["lines may end as they do elsewhere", "A=1\r\nB='2\r\n3'\r\n", { A: "1", B: "2\n3" }],
    ["a byte order mark is not part of the first name", "\uFEFFA=1", { A: "1" }],
    [
      "quotes inside an unquoted value are part of it",
      `A={"b":"c d"}\nB=it's`,
      {
        A: `{"b":"c d"}`,
        B: "it's",
      },
    ],
    ["values hold any character", "A='ключ 🔑 \u2028'", { A: "ключ 🔑 \u2028" }],
    ["an empty file says nothing", "", {}],
  ])("%s", ([_rule, content, read]) => {
    expect(textsOf(readDotenv(content))).toEqual(read);
  });

  test("of a name that stands there twice the last counts, and it is told", () => {
    const content = readDotenv("A=1\nB=2\nA=3\nA=4");
    expect(textsOf(content)).toEqual({ A: "4", B: "2" });
    expect(content.repeated).toEqual([["A"]]);
  });

  test.for<[content: string, reason: string]>([
    ["A=1\nhunter2", "line 2 begins with no NAME=, where NAME is a variable's name"],
    ["A=1\n\n2B=hunter2", "line 3 begins with no NAME=, where NAME is a variable's name"],
    ["A.B=hunter2", "line 1 begins with no NAME=, where NAME is a variable's name"],
    ["export hunter2", "line 1 begins with no NAME=, where NAME is a variable's name"],
    ["A: hunter2", "line 1 begins with no NAME=, where NAME is a variable's name"],
    ["A=1\nB='hunter2\nC=3", "line 2 begins a quoted value that does not end"],
    [`A="hunter2\\"`, "line 1 begins a quoted value that does not end"],
    ["A='1\n2'hunter2", "line 2 has something after the closing quote"],
    ["A='1'#hunter2", "line 1 has something after the closing quote"],
    ["A=`hunter2`", "line 1 has a value in backticks; use single or double quotes"],
    ["A=hunter2\0", "line 1 holds a null character"],
    ["A=hunter2\uD800", "line 1 holds half of a character"],
  ])("%j is refused by its line, without its value", ([content, reason]) => {
    expect(failureOf(() => readDotenv(content))).toEqual({
      kind: "request-invalid",
      mistakes: [{ place: "content", reason }],
    });
  });

  test("a long hostile file is read or refused at once", () => {
    const many = 100_000;
    const begun = performance.now();
    readDotenv(`A=b${" ".repeat(many)}c`);
    readDotenv(`A="${"\\\\".repeat(many)}"`);
    failureOf(() => readDotenv(`A="${"\\".repeat(many + 1)}`));
    failureOf(() => readDotenv(`export${" ".repeat(many)}!`));
    failureOf(() => readDotenv(`A${" ".repeat(many)}!`));
    expect(performance.now() - begun).toBeLessThan(2000);
  });
});

describe("what is written into a .env file", () => {
  test.for<[value: string, line: string]>([
    ["", "A="],
    ["https://a.example:80/b?", "A='https://a.example:80/b?'"],
    ["c2VjcmV0Cg==", "A=c2VjcmV0Cg=="],
    ["two words", "A='two words'"],
    [String.raw`$HOME \n "x" #`, String.raw`A='$HOME \n "x" #'`],
    ["line\nline", "A='line\nline'"],
    ["it's", `A="it's"`],
    ["it's $5 `now`\\", 'A="it\'s \\$5 \\`now\\`\\\\"'],
    ["a\r\nb", 'A="a\\r\nb"'],
    [String.raw`C:\here\ `.trim(), String.raw`A="C:\\here\\"`],
  ])("%j is written as %j and read back", ([value, line]) => {
    const written = writeDotenv([entry(["A"], value)]);
    expect(written).toBe(`${line}\n`);
    expect(textsOf(readDotenv(written))).toEqual({ A: value });
  });

  test("what has no place in it is refused by name, all of it at once", () => {
    const entries: readonly FileEntry[] = [
      entry(["GOOD"], "hunter2"),
      entry(["a.b"], "hunter2"),
      entry(["x", "2"], "hunter2"),
      entry(["x", "GOOD"], "hunter2"),
      { segments: ["BINARY"], type: "binary", bytes: Buffer.from("hunter2") },
      { segments: ["BROKEN"], type: "text", bytes: Buffer.of(0xff) },
      entry(["NULL"], "hunter2\0"),
    ];
    expect(failureOf(() => writeDotenv(entries))).toEqual({
      kind: "request-invalid",
      mistakes: [
        { place: "/a.b", reason: "is not the name of a variable" },
        { place: "/x/2", reason: "is not the name of a variable" },
        { place: "/x/GOOD", reason: expect.stringContaining("has the name of another secret") },
        { place: "/BINARY", reason: "is not text; export it as JSON" },
        { place: "/BROKEN", reason: "is not text; export it as JSON" },
        { place: "/NULL", reason: "holds a null character; export it as JSON" },
      ],
    });
    expect(writeDotenv(entries.slice(0, 1))).toBe("GOOD=hunter2\n");
  });
});

function entry(segments: readonly string[], text: string): FileEntry {
  return { segments, type: "text", bytes: Buffer.from(text) };
}

function textsOf({ entries }: FileContent): Record<string, string> {
  return Object.fromEntries(entries.map(({ segments, bytes }) => [segments.join("/"), bytes.toString()]));
}

function failureOf(work: () => unknown): unknown {
  try {
    work();
  } catch (problem) {
    if (problem instanceof FailureError) return problem.failure;
    throw problem;
  }
  return undefined;
}
