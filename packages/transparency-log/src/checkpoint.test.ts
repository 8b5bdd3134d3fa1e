import { expect, test } from "vitest";
import { buildInclusionProof } from "./build-proofs.ts";
import { base64Text } from "./bytes.ts";
import { type Checkpoint, formatCheckpoint, parseCheckpoint, verifyCheckpoint } from "./checkpoint.ts";
import { Frontier } from "./frontier.ts";
import {
  formatOfflineProof,
  type OfflineProof,
  parseOfflineProof,
  verifyOfflineProof,
} from "./offline-proof.ts";
import { cosignNote, type NoteSigner, signNote } from "./sign-note.ts";
import { formatNote } from "./signed-note.ts";
import { bitsOf, flipBitOfText } from "./test/flip-bit.ts";
import { makeSigner } from "./test/make-signer.ts";
import { readMemoryTree, recordHash } from "./test/memory-tree.ts";
import { nodeSha256 } from "./test/node-sha256.ts";

const origin = "log.example/audit/0";
const size = 100;
const index = 42;

function makeCheckpoint(): Checkpoint {
  const frontier = new Frontier(nodeSha256);
  for (let at = 0; at < size; at += 1) frontier.append(recordHash(at));
  return { origin, size, root: Uint8Array.from(frontier.root()), extensions: [] };
}

async function makeProof(log: NoteSigner): Promise<OfflineProof> {
  const text = formatCheckpoint(makeCheckpoint());
  const hashes = await buildInclusionProof({ index, size }, { readNodes: readMemoryTree(size) });
  const proof = hashes.map((hash) => Uint8Array.from(hash));
  return { index, proof, note: formatNote({ text, signatures: [await signNote(text, log)] }) };
}

test("a checkpoint is parsed as it was formatted", () => {
  const plain = makeCheckpoint();
  const text = `${origin}\n${size}\n${base64Text(plain.root)}\n`;
  expect(formatCheckpoint(plain)).toBe(text);
  const empty = { ...plain, size: 0 };
  const extended = { ...plain, size: Number.MAX_SAFE_INTEGER, extensions: ["extension one", "two"] };
  for (const checkpoint of [plain, empty, extended])
    expect(parseCheckpoint(formatCheckpoint(checkpoint))).toEqual(checkpoint);
  for (const change of [{ origin: "" }, { origin: "a\nb" }, { size: -1 }, { extensions: [""] }])
    expect(() => formatCheckpoint({ ...plain, ...change })).toThrow(RangeError);
  expect(() => formatCheckpoint({ ...plain, root: new Uint8Array(31) })).toThrow(RangeError);
});

test("malformed checkpoints are rejected", () => {
  const { root } = makeCheckpoint();
  const line = base64Text(root);
  const malformed = [
    "",
    "\n",
    `${origin}\n100\n`,
    `${origin}\n100\n${line}`,
    `\n100\n${line}\n`,
    `${origin}\n\n${line}\n`,
    `${origin}\n100\n${line}\n\n`,
    `${origin}\n100\n${line}\nextension\n\n`,
    `${origin}\n100\n${line}\nextension`,
    ...["0100", "+1", "-1", "1e2", " 100", "100 ", "0x10", "9007199254740992", "99999999999999999999"].map(
      (number) => `${origin}\n${number}\n${line}\n`,
    ),
    ...[
      line.slice(0, -1),
      `${line.slice(0, -2)}B=`,
      ` ${line}`,
      base64Text(root.slice(1)),
      `${line}AAAA`,
    ].map((hash) => `${origin}\n100\n${hash}\n`),
  ];
  for (const text of malformed) expect(parseCheckpoint(text), text).toBeUndefined();
});

test("a checkpoint needs a signature of the log, not only of a witness, and the log's origin", async () => {
  const log = await makeSigner(origin);
  const witness = await makeSigner("witness.example", "cosignature");
  const checkpoint = makeCheckpoint();
  const text = formatCheckpoint(checkpoint);
  const keys = [log.key, witness.key];
  const signature = await signNote(text, log);
  const cosignature = await cosignNote(text, witness, 1_790_000_000);
  const both = formatNote({ text, signatures: [signature, cosignature] });
  expect(await verifyCheckpoint(both, { origin, keys })).toEqual({
    ...checkpoint,
    cosignatures: [{ key: witness.key, time: 1_790_000_000 }],
  });
  expect(await verifyCheckpoint(both, { origin, keys: [log.key] })).toEqual({
    ...checkpoint,
    cosignatures: [],
  });
  expect(await verifyCheckpoint(both, { origin: "other.example", keys })).toBeUndefined();
  const cosigned = formatNote({ text, signatures: [cosignature] });
  expect(await verifyCheckpoint(cosigned, { origin, keys })).toBeUndefined();
  const other = "not a checkpoint\n";
  const signedOther = formatNote({ text: other, signatures: [await signNote(other, log)] });
  expect(await verifyCheckpoint(signedOther, { origin: "not a checkpoint", keys })).toBeUndefined();
});

test("an offline proof is verified from its text alone", async () => {
  const log = await makeSigner(origin);
  const proof = await makeProof(log);
  const trusted = { origin, keys: [log.key] };
  const text = formatOfflineProof(proof);
  expect(text.split("\n").slice(0, 3)).toEqual([
    "c2sp.org/tlog-proof@v1",
    "index 42",
    base64Text(proof.proof[0] ?? new Uint8Array()),
  ]);
  const parsed = parseOfflineProof(text);
  expect(parsed).toEqual({ ...proof, extra: undefined });
  const verified = await verifyOfflineProof({ proof: parsed ?? proof, leafHash: recordHash(index) }, trusted);
  expect(verified?.size).toBe(size);
  const extra = Uint8Array.of(1, 2, 3);
  const withExtra = formatOfflineProof({ ...proof, extra });
  expect(withExtra.split("\n")[1]).toBe("extra AQID");
  expect(parseOfflineProof(withExtra)).toEqual({ ...proof, extra });
  const otherLeaf = { proof, leafHash: recordHash(index + 1) };
  expect(await verifyOfflineProof(otherLeaf, trusted)).toBeUndefined();
});

test("every changed bit of an offline proof is found, and malformed ones are rejected", async () => {
  const log = await makeSigner(origin);
  const proof = await makeProof(log);
  const trusted = { origin, keys: [log.key] };
  const text = formatOfflineProof(proof);
  const [hash = ""] = proof.proof.map(base64Text);
  const malformed = [
    "",
    text.replace("@v1", "@v2"),
    text.replace("index 42\n", ""),
    text.replace("index 42", "index 042"),
    text.replace("index 42", "index  42"),
    text.replace("index 42", "extra AQI\nindex 42"),
    text.replace("index 42", "index 42\nextra AQID"),
    text.replace(hash, hash.slice(4)),
    text.replace(hash, `${hash} `),
    text.replaceAll("\n\n", "\n"),
    text + "x".repeat(1024 * 1024),
  ];
  for (const each of malformed) expect(parseOfflineProof(each), each.slice(0, 200)).toBeUndefined();
  let found = 0;
  for (let bit = 0; bit < bitsOf(text); bit += 1) {
    const altered = parseOfflineProof(flipBitOfText(text, bit) ?? "");
    const leafHash = recordHash(index);
    const isValid =
      altered !== undefined &&
      (await verifyOfflineProof({ proof: altered, leafHash }, trusted, nodeSha256)) !== undefined;
    if (!isValid) found += 1;
  }
  expect(found).toBe(bitsOf(text));
});
