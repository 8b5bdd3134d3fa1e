import { expect, test } from "vitest";
import { buildConsistencyProof, buildInclusionProof } from "./build-proofs.ts";
import { type Bytes, base64Bytes, base64Text } from "./bytes.ts";
import { parseCheckpoint, verifyCheckpoint } from "./checkpoint.ts";
import made from "./fixtures/made-by-go.json" with { type: "json" };
import { Frontier } from "./frontier.ts";
import { readMemoryTree, recordHash } from "./test/memory-tree.ts";
import { nodeSha256 } from "./test/node-sha256.ts";
import { parseVerifierKey } from "./verifier-key.ts";
import { verifyConsistency, verifyInclusion } from "./verify-proofs.ts";

// Written by the program in test/oracle, an independent implementation; an integration test checks that it is current.
const roots: Readonly<Record<string, string>> = made.roots;
const sizes = Object.keys(roots).map(Number);
const tree = { readNodes: readMemoryTree(Math.max(...sizes)), sha256: nodeSha256 };

function decode(text: string | undefined): Bytes {
  return base64Bytes(text ?? "") ?? new Uint8Array();
}

test("the trees have the roots that Go computes", () => {
  const frontier = new Frontier(nodeSha256);
  for (const size of sizes.toSorted((left, right) => left - right)) {
    while (frontier.size < size) frontier.append(recordHash(frontier.size));
    expect(base64Text(frontier.root()), `${size} records`).toBe(roots[size]);
  }
});

test("proofs of inclusion made by Go are valid, and ours are the same", async () => {
  expect(made.inclusion.length).toBeGreaterThan(40);
  for (const { size, index, proof } of made.inclusion) {
    const hashes = (proof ?? []).map(decode);
    const claim = { leafHash: recordHash(index), index, size, root: decode(roots[size]), proof: hashes };
    expect(await verifyInclusion(claim)).toBe(true);
    expect((await buildInclusionProof({ index, size }, tree)).map(base64Text)).toEqual(proof ?? []);
  }
});

test("proofs of consistency made by Go are valid, and ours are the same", async () => {
  expect(made.consistency.length).toBeGreaterThan(60);
  for (const { oldSize, size, proof } of made.consistency) {
    const hashes = (proof ?? []).map(decode);
    const [oldRoot, newRoot] = [decode(roots[oldSize]), decode(roots[size])];
    expect(await verifyConsistency({ oldSize, oldRoot, newSize: size, newRoot, proof: hashes })).toBe(true);
    const ours = await buildConsistencyProof({ oldSize, newSize: size }, tree);
    expect(ours.map(base64Text)).toEqual(proof ?? []);
  }
});

test("checkpoints and cosignatures made by Go are verified", async () => {
  expect(made.notes).toHaveLength(6);
  for (const { keys: texts, note } of made.notes) {
    const keys = (await Promise.all(texts.map(parseVerifierKey))).filter((key) => key !== undefined);
    expect(keys).toHaveLength(texts.length);
    const checkpoint = await verifyCheckpoint(note, { origin: "log.example/audit/0", keys });
    expect(base64Text(checkpoint?.root ?? new Uint8Array())).toBe(roots[checkpoint?.size ?? 0]);
    expect(checkpoint?.cosignatures.map(({ time }) => time)).toEqual(
      keys.length === 2 ? [1_790_000_000] : [],
    );
    expect(parseCheckpoint(note)).toBeUndefined();
  }
});
