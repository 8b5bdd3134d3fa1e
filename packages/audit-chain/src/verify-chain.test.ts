import { generateKeyPairSync, sign } from "node:crypto";
import { expect, test } from "vitest";
import { type Checkpoint, checkpointMessage } from "./checkpoint.ts";
import { type ExportLine, readExportLine, writeExportLine } from "./export-line.ts";
import { type AuditLink, chainFormat } from "./link.ts";
import { makeLinks } from "./test/make-links.ts";
import { verifyChain } from "./verify-chain.ts";

const chain = "0190a0b0-0000-7000-8000-000000000001";
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const keys = [
  { version: 1, public_key: publicKey.export({ type: "spki", format: "der" }).toString("base64") },
];

function signed({ seq, hash }: Pick<AuditLink, "seq" | "hash">): Checkpoint {
  const signature = sign(null, checkpointMessage({ chain, seq, hash }), privateKey).toString("base64");
  return { chain, seq, hash, key_version: 1, signature };
}

function exported(links: readonly AuditLink[], checkpointAt = 0): readonly ExportLine[] {
  const last = links.at(-1);
  return [
    { type: "chain", format: chainFormat, account: chain, chain, keys },
    ...links.flatMap((link): readonly ExportLine[] => [
      { type: "link", ...link },
      ...(link.seq === checkpointAt ? [{ type: "checkpoint", ...signed(link) } as const] : []),
    ]),
    { type: "end", seq: last?.seq ?? 0, hash: last?.hash ?? "" },
  ];
}

const texts = (lines: readonly ExportLine[]): readonly string[] =>
  lines.map((line) => writeExportLine(line).trimEnd());

test("an unmodified export is valid, even with erased bodies and empty lines", async () => {
  const links = await makeLinks(chain, 5);
  expect(await verifyChain(texts(exported(links, 3)))).toEqual({
    isValid: true,
    chain,
    links: 5,
    checkpoints: 1,
  });
  const erased = links.map((link) => (link.seq < 4 ? { ...link, body: null } : link));
  const spaced = texts(exported(erased, 5)).flatMap((text) => ["", text]);
  expect(await verifyChain(spaced, { keys, checkpoints: links.map(signed) })).toMatchObject({
    isValid: true,
    checkpoints: 6,
  });
});

test("an invalid export is reported with the number of its first invalid record", async () => {
  const links = await makeLinks(chain, 5);
  const good = texts(exported(links, 3));
  const other = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "der" });
  const foreign = [{ version: 1, public_key: other.toString("base64") }];
  const without = (line: number) => good.filter((_, index) => index !== line);
  const cases = [
    [without(2), {}, 2, "record missing"],
    [good.map((text) => text.replace("/a/2", "/b/2")), {}, 2, "content does not match what was recorded"],
    [good.slice(0, -1), {}, 6, "the export is truncated"],
    [[...good.slice(0, 2), good[3], good[2], ...good.slice(4)], {}, 2, "record missing"],
    [[...good.slice(0, 3), good[2], ...good.slice(3)], {}, 2, "duplicate record"],
    [good, { keys: foreign }, 3, "checkpoint is not signed by a key of this log"],
    [good.map((text) => `${text} `), {}, undefined, "not an export of an audit log"],
    [
      [...good, ""],
      { checkpoints: [signed({ seq: 9, hash: "0".repeat(64) })] },
      6,
      "record missing: a trusted checkpoint",
    ],
    [[...good, good[1]], {}, 6, "unexpected line after the end of the export"],
  ] as const;
  for (const [lines, trust, seq, reason] of cases) {
    const result = await verifyChain(
      lines.map((text) => text ?? ""),
      trust,
    );
    expect(result).toMatchObject({ isValid: false, seq, reason: expect.stringContaining(reason) });
  }
});

test("a line that is not in the canonical form of an export is rejected", () => {
  const line = writeExportLine({ type: "end", seq: 1, hash: "0".repeat(64) }).trimEnd();
  expect(readExportLine(line)).toEqual({ type: "end", seq: 1, hash: "0".repeat(64) });
  const spoiled = ["", "{}", "[]", "null", `${line}x`, line.replace("1", "1.5"), line.replace("1", "-1")];
  for (const text of [...spoiled, line.replace(',"type"', ',"also":1,"type"'), line.replace(":1", ": 1")]) {
    expect(readExportLine(text)).toBeUndefined();
  }
});

test("base64 with surplus bits, which decodes to the same bytes, is rejected", () => {
  const line = writeExportLine({ type: "checkpoint", ...signed({ seq: 1, hash: "0".repeat(64) }) }).trimEnd();
  expect(readExportLine(line)).toBeDefined();
  // The last character before the padding of 64 bytes is one of these four.
  const altered = line.replace(
    /[AQgw]==/u,
    (end) => `${String.fromCodePoint((end.codePointAt(0) ?? 0) + 1)}==`,
  );
  expect(altered).not.toBe(line);
  expect(readExportLine(altered)).toBeUndefined();
});
