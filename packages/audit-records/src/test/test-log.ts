import { canonicalJson, type Json } from "@hearth-and-keep/audit-chain";
import {
  type Bytes,
  buildInclusionProof,
  formatCheckpoint,
  hashLeaf,
  readNodesFromTiles,
  TileBuilder,
  textBytes,
  tilePath,
} from "@hearth-and-keep/transparency-log";
import { nodeSha256 } from "@hearth-and-keep/transparency-log/testing";
import { leafText, recordText } from "../record.ts";
import type { ExportedRecord } from "../stream-line.ts";
import type { TestKey } from "./test-key.ts";

export type TestRecord = {
  readonly account: string;
  readonly stream: string;
  readonly body: Json;
  /** The log that wrote the record, if another one adopted it. */
  readonly log?: number;
  readonly subject?: string;
  readonly revision?: number;
  readonly isErased?: boolean;
  /** What the leaf names as the stream's previous one, in place of the truth. */
  readonly previous?: number | null;
};

type StoredRecord = { readonly stream: string; readonly exported: Omit<ExportedRecord, "proof"> };

/** 2026-02-01T00:00:00Z */
const firstNumber = 1_769_904_000_000_000;

/** A log in memory, whose proofs come from its tiles as in production. */
export class TestLog {
  readonly id: number;
  readonly origin: string;
  readonly #key: TestKey;
  readonly #builder = new TileBuilder(nodeSha256);
  readonly #tiles = new Map<string, Bytes>();
  readonly #records: StoredRecord[] = [];

  constructor(id: number, key: TestKey) {
    this.id = id;
    this.origin = `keep.example/audit/${id}`;
    this.#key = key;
  }

  append(record: TestRecord): void {
    const index = this.#builder.size;
    const { account, stream, body, subject = null, revision = null, log = this.id } = record;
    const last = this.#records.findLast((each) => each.stream === stream)?.exported.index ?? null;
    const previous = record.previous === undefined ? last : record.previous;
    const identity = { log, number: firstNumber + 1_000_003 * index + log, outcome: "changed", revision };
    const bodyHash = hexHash(canonicalJson(body));
    const recordHash = hexHash(recordText({ ...identity, account, stream, subject, bodyHash }));
    this.#builder.append(hashLeaf(textBytes(leafText({ previous, recordHash })), nodeSha256));
    this.#records.push({
      stream,
      exported: {
        ...identity,
        index,
        previous,
        subject_id: subject,
        body: record.isErased === true ? null : body,
        body_hash: bodyHash,
      },
    });
  }

  /** Text of the checkpoint at the present size. */
  checkpointText(): string {
    const { size } = this.#builder;
    return formatCheckpoint({ origin: this.origin, size, root: this.#builder.root(), extensions: [] });
  }

  signCheckpoint(): Promise<string> {
    return this.#key.signText(this.checkpointText(), this.origin);
  }

  async exportRecords(stream: string): Promise<readonly ExportedRecord[]> {
    const { size } = this.#builder;
    const tiles = [...this.#builder.takeFullTiles(), ...this.#builder.partialTiles()];
    for (const tile of tiles) this.#tiles.set(tilePath(tile), tile.hashes);
    const readNodes = readNodesFromTiles({
      size,
      readTile: (tile) => Promise.resolve(this.#tiles.get(tilePath(tile))),
      sha256: nodeSha256,
    });
    const own = this.#records.filter((each) => each.stream === stream);
    return Promise.all(
      own.map(async ({ exported }) => {
        const proof = await buildInclusionProof(
          { index: exported.index, size },
          { readNodes, sha256: nodeSha256 },
        );
        return { ...exported, proof: proof.map((hash) => Buffer.from(hash).toString("base64")) };
      }),
    );
  }
}

function hexHash(text: string): string {
  return Buffer.from(nodeSha256(textBytes(text))).toString("hex");
}
