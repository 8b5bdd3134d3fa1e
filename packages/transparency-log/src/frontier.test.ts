import { expect, test } from "vitest";
import { computeRoot } from "./build-proofs.ts";
import type { Bytes } from "./bytes.ts";
import { Frontier } from "./frontier.ts";
import { hashLeaf, webSha256 } from "./hashing.ts";
import { readMemoryTree, recordHash } from "./test/memory-tree.ts";
import { nodeSha256 } from "./test/node-sha256.ts";

const hex = (bytes: Bytes): string => Buffer.from(bytes).toString("hex");

/** The tree with eight leaves that implementations of RFC 6962 are tested with, and its roots by size. */
const publishedLeaves = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f",
];
const publishedRoots = [
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

test("the published tree of eight leaves has its published roots", async () => {
  const frontier = new Frontier(nodeSha256);
  const roots = [hex(frontier.root())];
  for (const leaf of publishedLeaves) {
    const content = Uint8Array.from(Buffer.from(leaf, "hex"));
    const leafHash = hashLeaf(content, nodeSha256);
    expect(hex(await hashLeaf(content, webSha256))).toBe(hex(leafHash));
    frontier.append(leafHash);
    roots.push(hex(frontier.root()));
  }
  expect(roots).toEqual(publishedRoots);
});

test("a frontier has the root of the whole tree at every size, also after it was restored", async () => {
  const readNodes = readMemoryTree(300);
  let frontier = new Frontier(nodeSha256);
  for (let size = 0; size <= 300; size += 1) {
    expect(frontier.size).toBe(size);
    const root = await computeRoot(size, { readNodes });
    expect(hex(frontier.root())).toBe(hex(root));
    const restored = Frontier.restore(frontier.serialise(), nodeSha256);
    expect(hex(restored?.root() ?? new Uint8Array())).toBe(hex(root));
    frontier = restored ?? frontier;
    frontier.append(recordHash(size));
  }
});

test("bytes that are not a frontier are rejected, and so is a leaf that is not a hash", () => {
  const frontier = new Frontier(nodeSha256);
  for (let index = 0; index < 11; index += 1) frontier.append(recordHash(index));
  const bytes = frontier.serialise();
  expect(bytes.length).toBe(8 + 3 * 32);
  for (let length = 0; length < bytes.length; length += 1)
    expect(Frontier.restore(bytes.slice(0, length), nodeSha256), `${length} bytes`).toBeUndefined();
  expect(Frontier.restore(Uint8Array.of(...bytes, 0), nodeSha256)).toBeUndefined();
  expect(Frontier.restore(new Uint8Array(8 + 64 * 32).fill(255), nodeSha256)).toBeUndefined();
  expect(() => frontier.append(new Uint8Array(31))).toThrow(RangeError);
});
