import { FailureError } from "@hearth-and-keep/failures";
import { startProcessorClock } from "@hearth-and-keep/figures";
import { describe, expect, test } from "vitest";
import type { SecretType } from "../queries.ts";
import type { FileEntry } from "./file-entries.ts";
import { readJsonFile, writeJsonFile } from "./json-file.ts";

describe("parsing a JSON file", () => {
  test("strings become text, objects become folders, everything else keeps its JSON source", () => {
    const content = `{
      "A": "b", "": {}, "empty": "", "f": { "g": { "N": 1.50, "big": 12345678901234567890 }, "L": [1,  {"a": "]\\""}] },
      "yes": true, "none": null, "unicode": "\\u043a\\ud83d\\udd11"
    }`.replace('"": {}, ', "");
    expect(read(content)).toEqual([
      "/A text b",
      "/empty text ",
      "/f/g/N json 1.50",
      "/f/g/big json 12345678901234567890",
      '/f/L json [1,  {"a": "]\\""}]',
      "/yes json true",
      "/none json null",
      "/unicode text к🔑",
    ]);
  });

  test("names special to JavaScript are ordinary names", () => {
    const content = `{"__proto__": "a", "constructor": {"prototype": "b", "__proto__": "c"}, "toString": 1}`;
    expect(read(content)).toEqual([
      "/__proto__ text a",
      "/constructor/prototype text b",
      "/constructor/__proto__ text c",
      "/toString json 1",
    ]);
    expect(Object.hasOwn(Object.prototype, "prototype")).toBe(false);
  });

  test("an object with a $type is a secret, and its members are the folder of the same name", () => {
    const content = `{"a": {"$type": "json", "value": "{\\"x\\": 1}"}, "b": {"$type": "file", "base64": "AP8="},
      "c": {"$type": "text", "value": "d", "members": {"$type": {"$type": "text", "value": "text"}, "value": "e"}}}`;
    expect(read(content)).toEqual([
      '/a json {"x": 1}',
      "/b file \u0000\uFFFD",
      "/c text d",
      "/c/$type text text",
      "/c/value text e",
    ]);
  });

  test("the last of repeated names counts, and the name is reported", () => {
    const { entries, repeated } = readJsonFile('{"a": "1", "f": {"b": "2"}, "a": "3", "f": {"b": "4"}}');
    expect(entries.map(({ bytes }) => bytes.toString())).toEqual(["3", "4"]);
    expect(repeated).toEqual([["a"], ["f", "b"]]);
  });

  test.for<[content: string, field: string, reason: string]>([
    ["hunter2", "content", "is not valid JSON"],
    ['{\n"a": "hunter2",\n}', "content", "line 3 is not valid JSON"],
    ['["hunter2"]', "content", "must be an object that maps names to secrets"],
    ['{"$type": "text", "value": "hunter2"}', "content", "must be an object that maps names to secrets"],
    ['{"a/b": "hunter2"}', "content./a/b", "is not a valid name for a secret or folder"],
    ['{"f": {"": "hunter2"}}', "content./f/", "is not a valid name for a secret or folder"],
    ['{"a": "hunter2\\ud800"}', "content./a", "contains a lone surrogate"],
    [
      '{"a": {"$type": "word", "value": "hunter2"}}',
      "content./a",
      "has a $type, so it must have exactly the members $type, value or base64, and optionally members",
    ],
    [
      '{"a": {"$type": "text", "value": "hunter2", "more": 1}}',
      "content./a",
      "has a $type, so it must have exactly the members $type, value or base64, and optionally members",
    ],
    [
      '{"a": {"$type": "text", "value": "hunter2", "base64": ""}}',
      "content./a",
      "has a $type, so it must have exactly the members $type, value or base64, and optionally members",
    ],
    ['{"a": {"$type": "text", "value": 1}}', "content./a", "has a value that is not a string"],
    ['{"a": {"$type": "file", "base64": "hunter2"}}', "content./a", "is not valid base64"],
    [
      '{"a": {"$type": "text", "value": "", "members": "hunter2"}}',
      "content./a",
      "has members that are not an object of secrets",
    ],
    ['{"a":'.repeat(50) + "1" + "}".repeat(50), "content", "has folders nested more than 16 deep"],
  ])("the error for %j names the path and does not quote the value", ([content, field, reason]) => {
    expect(failureOf(() => readJsonFile(content))).toEqual({
      kind: "request-invalid",
      errors: [{ field, reason }],
    });
  });

  test("deep lists and long texts are parsed within two seconds", () => {
    const deep = 200_000;
    const elapsed = startProcessorClock();
    const [entry] = readJsonFile(`{"a": ${"[".repeat(deep)}${"]".repeat(deep)}}`).entries;
    expect(entry?.bytes.length).toBe(2 * deep);
    readJsonFile(`{"a": "${"\\\\".repeat(deep)}"}`);
    expect(elapsed()).toBeLessThan(2000);
  });
});

describe("writing a JSON file", () => {
  test("a secret is written plainly if it reads back the same, otherwise with its type", () => {
    const entries = [
      secret("A", "text", 'quoted "b"\n'),
      secret("f/N", "json", "1.50"),
      secret("f/L", "json", '[1,  "x"]'),
      secret("f/O", "json", '{"x": 1}'),
      secret("f/S", "json", '"s"'),
      secret("f/blank", "json", " 1 "),
      secret("B", "binary", "\u0000"),
      secret("F", "file", "text"),
      secret("f", "text", "a folder too"),
      secret("__proto__/$type", "text", "text"),
      secret("__proto__/value", "text", ""),
    ];
    const written = writeJsonFile(entries);
    expect(JSON.parse(written)).toMatchObject({
      A: 'quoted "b"\n',
      f: {
        $type: "text",
        value: "a folder too",
        members: {
          N: 1.5,
          L: [1, "x"],
          O: { $type: "json", value: '{"x": 1}' },
          S: { $type: "json", value: '"s"' },
          blank: { $type: "json", value: " 1 " },
        },
      },
      B: { $type: "binary", base64: "AA==" },
      F: { $type: "file", base64: "dGV4dA==" },
    });
    expect(byPath(readJsonFile(written).entries)).toEqual(byPath(entries));
  });

  test("invalid UTF-8 and invalid JSON round-trip", () => {
    const entries: readonly FileEntry[] = [
      { segments: ["a"], type: "text", bytes: Buffer.of(0xff, 0xfe) },
      { segments: ["b"], type: "json", bytes: Buffer.from("not JSON") },
    ];
    expect(readJsonFile(writeJsonFile(entries)).entries).toEqual(entries);
  });

  test("no secrets are an empty object", () => {
    expect(writeJsonFile([])).toBe("{}\n");
    expect(readJsonFile("{}").entries).toEqual([]);
  });
});

function secret(path: string, type: SecretType, text: string): FileEntry {
  return { segments: path.split("/"), type, bytes: Buffer.from(text) };
}

function read(content: string): readonly string[] {
  return readJsonFile(content).entries.map(
    ({ segments, type, bytes }) => `/${segments.join("/")} ${type} ${bytes.toString()}`,
  );
}

function byPath(entries: readonly FileEntry[]): ReadonlyMap<string, FileEntry> {
  return new Map(entries.map((entry) => [entry.segments.join("/"), entry]));
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
