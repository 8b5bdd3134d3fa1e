import { type CheckpointKey, chainFormat, writeExportLine } from "@hearth-and-keep/audit-chain";
import type { ServerKeys } from "../keys/server-keys.ts";
import { type ChainRef, type CheckpointRow, readHead, readRange } from "./queries.ts";
import { describeLink, type LogReader } from "./read-log.ts";

export type ExportDependencies = {
  readonly database: LogReader;
  readonly serverKeys: Pick<ServerKeys, "publicKeys">;
};

const linksPerChunk = 500;

/** Streams the chain up to its current head; `keep audit verify` checks the export offline. */
export async function* exportLog(
  chainRef: ChainRef,
  dependencies: ExportDependencies,
): AsyncGenerator<string> {
  const head = await readHead(dependencies.database, chainRef);
  const keys = describeKeys(dependencies.serverKeys);
  const { accountId: account, chain } = chainRef;
  yield writeExportLine({ type: "chain", format: chainFormat, account, chain, keys });
  if (head === undefined) return;
  const last = Number(head.seq);
  for (let after = 0; after < last; after += linksPerChunk) {
    const upTo = Math.min(after + linksPerChunk, last);
    const { links, checkpoints } = await readRange(dependencies.database, chainRef, { after, upTo });
    yield interleave(chain, links.map(describeLink), checkpoints);
  }
  yield writeExportLine({ type: "end", seq: last, hash: head.hash });
}

export function describeKeys({ publicKeys }: Pick<ServerKeys, "publicKeys">): readonly CheckpointKey[] {
  return [...publicKeys()].map(([version, key]) => ({ version, public_key: key.toString("base64") }));
}

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
