import { FailureError } from "@hearth-and-keep/failures";
import { startProcessorClock } from "@hearth-and-keep/figures";
import { describe, expect, test } from "vitest";
import { readDotenv, writeDotenv } from "./dotenv.ts";
import type { FileContent, FileEntry } from "./file-entries.ts";

describe("parsing a .env file", () => {
  test.for<[rule: string, content: string, read: Record<string, string>]>([
    ["a name, an equals sign and a value", "A=1\nB=two", { A: "1", B: "two" }],
    ["export before the name is ignored", "export A=1\n  export\tB=2", { A: "1", B: "2" }],
    ["blanks around the equals sign and after the value are ignored", "A = 1 \nB=\t2\t", { A: "1", B: "2" }],
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
      "single quotes are literal",
      String.raw`A='a\nb $HOME "x" # no'`,
      {
        A: String.raw`a\nb $HOME "x" # no`,
      },
    ],
    [
      "double quotes process escapes",
      String.raw`A="a\nb\tc\rd\"e\\f\$g` + '\\`h"',
      {
        A: 'a\nb\tc\rd"e\\f$g`h',
      },
    ],
    [
      "a backslash before any other character is literal",
      String.raw`A="a\b\'\x"`,
      {
        A: String.raw`a\b\'\x`,
      },
    ],
    ["an escaped backslash does not escape the next character", String.raw`A="\\n"`, { A: String.raw`\n` }],
    ["quoted values span lines", "A='1\n2'\nB=\"3\n#4\"\nC=5", { A: "1\n2", B: "3\n#4", C: "5" }],
    ["nothing is expanded", `A=$HOME\nB="\${A}"\nC=$(id)`, { A: "$HOME", B: "${A}", C: "$(id)" }],
    [
      "a comment needs a preceding blank",
      "# one\n  # two\nA=b#c # three\nB='d' # four",
      { A: "b#c", B: "d" },
    ],
    ["CRLF line endings are normalized", "A=1\r\nB='2\r\n3'\r\n", { A: "1", B: "2\n3" }],
    ["a byte order mark is not part of the first name", "\uFEFFA=1", { A: "1" }],
    [
      "quotes inside an unquoted value are literal",
      `A={"b":"c d"}\nB=it's`,
      {
        A: `{"b":"c d"}`,
        B: "it's",
      },
    ],
    ["values may contain any character", "A='ключ 🔑 \u2028'", { A: "ключ 🔑 \u2028" }],
    ["an empty file has no entries", "", {}],
  ])("%s", ([_rule, content, read]) => {
    expect(textsOf(readDotenv(content))).toEqual(read);
  });

  test("the last of repeated names counts, and the name is reported", () => {
    const content = readDotenv("A=1\nB=2\nA=3\nA=4");
    expect(textsOf(content)).toEqual({ A: "4", B: "2" });
    expect(content.repeated).toEqual([["A"]]);
  });

  test.for<[content: string, reason: string]>([
    ["A=1\nhunter2", "line 2 does not start with NAME=, where NAME is a variable name"],
    ["A=1\n\n2B=hunter2", "line 3 does not start with NAME=, where NAME is a variable name"],
    ["A.B=hunter2", "line 1 does not start with NAME=, where NAME is a variable name"],
    ["export hunter2", "line 1 does not start with NAME=, where NAME is a variable name"],
    ["A: hunter2", "line 1 does not start with NAME=, where NAME is a variable name"],
    ["A=1\nB='hunter2\nC=3", "line 2 starts a quoted value that is not closed"],
    [`A="hunter2\\"`, "line 1 starts a quoted value that is not closed"],
    ["A='1\n2'hunter2", "line 2 has text after the closing quote"],
    ["A='1'#hunter2", "line 1 has text after the closing quote"],
    ["A=`hunter2`", "line 1 has a value in backticks; use single or double quotes"],
    ["A=hunter2\0", "line 1 contains a null character"],
    ["A=hunter2\uD800", "line 1 contains a lone surrogate"],
  ])("the error for %j names the line and does not quote the value", ([content, reason]) => {
    expect(failureOf(() => readDotenv(content))).toEqual({
      kind: "request-invalid",
      errors: [{ field: "content", reason }],
    });
  });

  test("a long hostile file is parsed or rejected within two seconds", () => {
    const many = 100_000;
    const elapsed = startProcessorClock();
    readDotenv(`A=b${" ".repeat(many)}c`);
    readDotenv(`A="${"\\\\".repeat(many)}"`);
    failureOf(() => readDotenv(`A="${"\\".repeat(many + 1)}`));
    failureOf(() => readDotenv(`export${" ".repeat(many)}!`));
    failureOf(() => readDotenv(`A${" ".repeat(many)}!`));
    expect(elapsed()).toBeLessThan(2000);
  });
});

describe("writing a .env file", () => {
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

  test("every secret that cannot be written is listed in one error", () => {
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
      errors: [
        { field: "/a.b", reason: "is not a valid variable name" },
        { field: "/x/2", reason: "is not a valid variable name" },
        { field: "/x/GOOD", reason: expect.stringContaining("has the same name as another secret") },
        { field: "/BINARY", reason: "is not text; export it as JSON" },
        { field: "/BROKEN", reason: "is not text; export it as JSON" },
        { field: "/NULL", reason: "contains a null character; export it as JSON" },
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
  } catch (error) {
    if (error instanceof FailureError) return error.failure;
    throw error;
  }
  return undefined;
}
