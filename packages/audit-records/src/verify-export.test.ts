import { expect, test } from "vitest";
import { changeMember, writeLines } from "./test/alter-lines.ts";
import { account, exportStream, makeChain, makeExport, otherStream, stream } from "./test/make-export.ts";
import { verifyAuditExport } from "./verify-export.ts";

const logs = [
  { origin: "keep.example/audit/1", size: 24, records: 8 },
  { origin: "keep.example/audit/2", size: 11, records: 3 },
  { origin: "keep.example/audit/4", size: 300, records: 2 },
];

test("an export with a carried-over chain, adopted and erased records and empty lines is valid", async () => {
  const { lines, keys } = await makeExport();
  const expected = {
    isValid: true,
    stream,
    records: 13,
    carriedOver: 4,
    erased: 1,
    since: "2026-01-31T08:15:00.000001Z",
    logs,
    trustedCheckpoints: 0,
  };
  const texts = writeLines(lines);
  expect(await verifyAuditExport(texts)).toEqual(expected);
  expect(await verifyAuditExport(["", ...texts.flatMap((text) => [text, "", ""])], { keys })).toEqual(
    expected,
  );
  const erased = changeMember("link", 1, ["body", () => null])(lines);
  expect(await verifyAuditExport(writeLines(erased))).toEqual({ ...expected, erased: 2 });
});

test("an export without a chain is valid when the record that continues the chain names none", async () => {
  for (const firstBody of [
    { type: "chain-carried-over", seq: 0, hash: "" },
    { type: "vault-created" },
    null,
  ]) {
    const { lines } = await makeExport({ hasChain: false, firstBody });
    expect(await verifyAuditExport(writeLines(lines))).toMatchObject({
      isValid: true,
      records: 13,
      carriedOver: 0,
      since: "2026-02-01T00:00:00.000001Z",
    });
  }
});

test("every stream of the same logs can be exported, also one without records", async () => {
  const made = await makeExport();
  const counts = new Map([
    [otherStream, 8 + 8],
    [account, 8],
  ]);
  for (const [exported, records] of counts) {
    const texts = writeLines(await exportStream(made.logs.slice(0, 2), exported));
    expect(await verifyAuditExport(texts)).toMatchObject({ isValid: true, stream: exported, records });
  }
  expect(await verifyAuditExport(writeLines(await exportStream([], stream)))).toEqual({
    isValid: true,
    stream,
    records: 0,
    carriedOver: 0,
    erased: 0,
    since: undefined,
    logs: [],
    trustedCheckpoints: 0,
  });
});

test("an export in the old format alone is valid", async () => {
  const lines = await makeChain(3);
  const expected = {
    isValid: true,
    stream,
    records: 0,
    carriedOver: 3,
    erased: 0,
    since: "2026-01-31T08:15:00.000001Z",
    logs: [],
    trustedCheckpoints: 0,
  };
  expect(await verifyAuditExport(writeLines(lines))).toEqual(expected);
  const erased = changeMember("link", 1, ["body", () => null])(lines);
  expect(await verifyAuditExport([...writeLines(erased), ""])).toEqual({ ...expected, erased: 1 });
});

test("trusted checkpoints are compared when they have the size of the export's", async () => {
  const { lines, keys, logs: made } = await makeExport();
  const checkpoints = await Promise.all(made.map((log) => log.signCheckpoint()));
  made[1].append({ account, stream: otherStream, body: { type: "value-read" } });
  const grown = await exportStream(made, stream);
  const trust = { keys, checkpoints };
  expect(await verifyAuditExport(writeLines(lines), trust)).toMatchObject({ trustedCheckpoints: 3 });
  const withChain = [
    ...lines.slice(
      0,
      lines.findIndex((line) => line["type"] === "stream"),
    ),
    ...grown,
  ];
  expect(await verifyAuditExport(writeLines(withChain), trust)).toMatchObject({
    isValid: true,
    trustedCheckpoints: 2,
  });
});

test("the line of the first error is reported, and nothing after it is read", async () => {
  const texts = writeLines((await makeExport()).lines);
  const expected = { isValid: false, stream, record: undefined, line: 15, reason: "not a valid export line" };
  const source = readOnce(["", ...texts.slice(0, 12), "", "x"]);
  expect(await verifyAuditExport(source.read())).toEqual(expected);
  expect(source.isClosed()).toBe(true);
  for (const [count, record] of [
    [0, undefined],
    [2, "2"],
    [7, undefined],
  ] as const) {
    const closed = readOnce([...texts.slice(0, count), "x"]);
    expect(await verifyAuditExport(closed.read())).toMatchObject({ isValid: false, line: count + 1, record });
    expect(closed.isClosed()).toBe(true);
  }
});

/** Lines after which nothing may be read. */
function readOnce(texts: readonly string[]) {
  let isClosed = false;
  async function* read(): AsyncGenerator<string> {
    try {
      yield* texts;
      throw new Error("Read too far");
    } finally {
      isClosed = true;
    }
  }
  return { read, isClosed: () => isClosed };
}
