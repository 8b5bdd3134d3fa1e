import { expect, test } from "vitest";
import {
  type Alter,
  type AlteredLines,
  change,
  changeMember,
  remove,
  writeLines,
} from "./test/alter-lines.ts";
import { type Alteration, rejectionOf, verifyAltered } from "./test/alteration.ts";
import {
  chainLength,
  exportStream,
  firstKey,
  type Line,
  makeChain,
  makeExport,
  otherStream,
  secondKey,
  secret,
  stream,
  unknownKey,
} from "./test/make-export.ts";
import { verifyAuditExport } from "./verify-export.ts";

const base = makeExport();
const missing = "the chain that was carried over is missing";
const otherEnd = "the chain that was carried over does not end as recorded";

const alterations: readonly Alteration[] = [
  {
    name: "a changed link",
    alter: change("link", 1, { revision: 1 }),
    reason: "hash does not match",
    record: /^2$/u,
  },
  {
    name: "changed content",
    alter: change("link", 2, { body: {} }),
    reason: "content does not match",
    record: /^3$/u,
  },
  { name: "a missing link", alter: remove("link", 0), reason: "record missing", record: /^1$/u },
  {
    name: "a chain without its end",
    alter: remove("end", 0),
    reason: "not a valid export line",
    record: /^5$/u,
  },
  {
    name: "a file cut in the chain",
    alter: (lines) => lines.slice(0, 3),
    reason: "truncated",
    record: /^3$/u,
  },
  { name: "a chain without its header", alter: remove("chain", 0), reason: "not an export of an audit log" },
  { name: "a chain after the stream", alter: moveChain, reason: missing, record: 0 },
  { name: "a chain twice", alter: repeatChain, reason: "unexpected line after the end of the chain" },
  {
    name: "a stream without its header",
    alter: remove("stream", 0),
    reason: "unexpected line after the end of the chain",
  },
  {
    name: "the stream's account changed",
    alter: change("stream", 0, { account: secret }),
    reason: "another account",
  },
  {
    name: "the chain's account changed",
    alter: change("chain", 0, { account: secret }),
    reason: "another account",
  },
  {
    name: "the chain of another stream",
    alter: change("stream", 0, { stream: otherStream }),
    reason: "another stream",
  },
  {
    name: "an additional key of the chain",
    alter: addKey,
    reason: "lists a key that the stream does not list",
  },
  {
    name: "another version of the chain's key",
    alter: useVersion(9),
    reason: "is not signed by a key",
    record: /^4$/u,
  },
  { name: "a removed chain", alter: withoutChain, reason: missing, record: 0 },
];

test("without an alteration the file is valid, also with trusted keys and checkpoints", async () => {
  const { lines, keys } = await base;
  expect(await verifyAuditExport(writeLines(lines), { keys })).toMatchObject({
    isValid: true,
    carriedOver: 4,
  });
  const end = lines.find((line) => line["type"] === "end");
  const hash = typeof end?.["hash"] === "string" ? end["hash"] : "";
  const chainCheckpoints = [firstKey.signChain({ chain: stream, seq: chainLength, hash })];
  expect(await verifyAuditExport(writeLines(lines), { keys, chainCheckpoints })).toMatchObject({
    isValid: true,
  });
});

test.for(alterations)("$name: the file is rejected", async (alteration) => {
  const { lines } = await base;
  expect(await verifyAltered(lines, alteration)).toMatchObject(rejectionOf(lines, alteration));
});

test("a chain is verified with the trusted keys", async () => {
  const trust = { keys: [secondKey.listed, unknownKey.listed] };
  expect(await verifyAuditExport(writeLines((await base).lines), trust)).toMatchObject({
    stream,
    record: "4",
    reason: "checkpoint is not signed by a key of this log",
  });
});

test("a chain that was rolled back is found with a checkpoint from before", async () => {
  const later = { chain: stream, seq: chainLength + 1, hash: "0".repeat(64) };
  const trust = { chainCheckpoints: [firstKey.signChain(later)] };
  expect(await verifyAuditExport(writeLines((await base).lines), trust)).toMatchObject({
    record: "5",
    reason: expect.stringContaining("so the log was rolled back"),
  });
});

test("a chain of other length than the recorded one is rejected", async () => {
  const { lines } = await base;
  for (const length of [chainLength - 1, chainLength + 1]) {
    const texts = writeLines([...(await makeChain(length)), ...withoutChain(lines)]);
    expect(await verifyAuditExport(texts)).toMatchObject({ isValid: false, reason: otherEnd });
    const same = writeLines([...(await makeChain(chainLength)), ...withoutChain(lines)]);
    expect(await verifyAuditExport(same)).toMatchObject({ isValid: true });
  }
});

test("a record that continues a chain names the end of the chain in the file", async () => {
  const end = (await makeChain(chainLength)).at(-1);
  const hash = end?.["hash"] ?? "";
  const type = "chain-carried-over";
  const notContinued = "record missing: the stream does not continue the chain that was carried over";
  const cases = [
    [{ type, seq: chainLength, hash }, undefined],
    [{ type, seq: chainLength, hash: "0".repeat(64) }, otherEnd],
    [{ type, seq: chainLength - 1, hash }, otherEnd],
    [{ type, seq: String(chainLength), hash }, otherEnd],
    [{ type, seq: 0, hash }, otherEnd],
    [{ type, hash }, otherEnd],
    [{ type: "vault-created", seq: chainLength, hash }, notContinued],
    [[type, chainLength, hash], notContinued],
    [type, notContinued],
    [null, notContinued],
  ] as const;
  for (const [firstBody, reason] of cases) {
    const { lines } = await makeExport({ firstBody });
    const result = await verifyAuditExport(writeLines(lines));
    expect(result).toMatchObject(reason === undefined ? { isValid: true } : { isValid: false, reason });
  }
});

test("a record that continues a chain is rejected without the chain", async () => {
  for (const firstBody of [
    { type: "chain-carried-over", seq: 1, hash: "" },
    { type: "chain-carried-over" },
  ]) {
    const { lines } = await makeExport({ hasChain: false, firstBody });
    expect(await verifyAuditExport(writeLines(lines))).toMatchObject({ isValid: false, reason: missing });
  }
});

test("a chain is rejected when the stream that follows has no record", async () => {
  const lines = [...(await makeChain(2)), ...(await exportStream([], stream))];
  expect(await verifyAuditExport(writeLines(lines))).toMatchObject({
    isValid: false,
    reason: expect.stringContaining("does not continue the chain"),
  });
});

function chainOf(lines: readonly Line[]): readonly Line[] {
  return lines.slice(
    0,
    lines.findIndex((line) => line["type"] === "stream"),
  );
}

function withoutChain(lines: readonly Line[]): AlteredLines {
  return lines.slice(chainOf(lines).length);
}

function moveChain(lines: readonly Line[]): AlteredLines {
  return [...withoutChain(lines), ...chainOf(lines)];
}

function repeatChain(lines: readonly Line[]): AlteredLines {
  return [...chainOf(lines), ...lines];
}

function addKey(lines: readonly Line[]): AlteredLines {
  return change("chain", 0, { keys: [firstKey.listed, { ...unknownKey.listed, version: 3 }] })(lines);
}

function useVersion(version: number): Alter {
  return changeMember("checkpoint", 0, ["key_version", () => version]);
}
