import { type CheckpointKey, chainFormat, writeExportLine } from "@hearth-and-keep/audit-chain";
import type { Database } from "../../database/open-database.ts";
import { describeLink } from "./describe-link.ts";
import { type ChainHead, type ChainRef, type CheckpointRow, readRange } from "./queries.ts";

const linksPerChunk = 500;

/** A chain of an earlier version, up to its end; with what the log says of the end, it can be verified offline. */
export async function* exportChain(
  chainRef: ChainRef,
  { head, keys, database }: ChainExport,
): AsyncGenerator<string> {
  const { accountId: account, chain } = chainRef;
  yield writeExportLine({ type: "chain", format: chainFormat, account, chain, keys });
  const last = Number(head.seq);
  for (let after = 0; after < last; after += linksPerChunk) {
    const upTo = Math.min(after + linksPerChunk, last);
    const { links, checkpoints } = await readRange(database, chainRef, { after, upTo });
    yield interleave(chain, links.map(describeLink), checkpoints);
  }
  yield writeExportLine({ type: "end", seq: last, hash: head.hash });
}

export type ChainExport = {
  readonly head: ChainHead;
  readonly keys: readonly CheckpointKey[];
  readonly database: Pick<Database, "queryInAccount">;
};

/** Sorts each checkpoint directly after its link, or where the link would be if it is missing. */
function interleave(
  chain: string,
  links: readonly ReturnType<typeof describeLink>[],
  checkpoints: readonly CheckpointRow[],
): string {
  const lines = [
    ...links.map((link) => ({ seq: link.seq, order: 0, text: writeExportLine({ type: "link", ...link }) })),
    ...checkpoints.map(({ seq, hash, key_version, signature }) => ({
      seq: Number(seq),
      order: 1,
      text: writeExportLine({ type: "checkpoint", chain, seq: Number(seq), hash, key_version, signature }),
    })),
  ];
  return lines
    .toSorted((left, right) => left.seq - right.seq || left.order - right.order)
    .map(({ text }) => text)
    .join("");
}
