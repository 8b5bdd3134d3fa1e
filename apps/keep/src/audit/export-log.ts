import { type CheckpointKey, chainFormat, writeExportLine } from "@hearth-and-keep/audit-chain";
import type { ServerKeys } from "../keys/server-keys.ts";
import { type ChainRef, type CheckpointRow, readHead, readStretch } from "./queries.ts";
import { describeLink, type LogReader } from "./read-log.ts";

export type ExportDependencies = {
  readonly database: LogReader;
  readonly serverKeys: Pick<ServerKeys, "publicKeys">;
};

const linksAtATime = 500;

/** The whole chain as it is now, a piece at a time; `keep audit verify` checks it without a server. */
export async function* exportLog(place: ChainRef, parts: ExportDependencies): AsyncGenerator<string> {
  const head = await readHead(parts.database, place);
  const keys = describeKeys(parts.serverKeys);
  const { accountId: account, chain } = place;
  yield writeExportLine({ type: "chain", format: chainFormat, account, chain, keys });
  if (head === undefined) return;
  const last = Number(head.seq);
  for (let after = 0; after < last; after += linksAtATime) {
    const upTo = Math.min(after + linksAtATime, last);
    const { links, checkpoints } = await readStretch(parts.database, place, { after, upTo });
    yield interleave(chain, links.map(describeLink), checkpoints);
  }
  yield writeExportLine({ type: "end", seq: last, hash: head.hash });
}

export function describeKeys({ publicKeys }: Pick<ServerKeys, "publicKeys">): readonly CheckpointKey[] {
  return [...publicKeys()].map(([version, key]) => ({ version, public_key: key.toString("base64") }));
}

/** Each checkpoint right after the link that it was made of, or where that link is missing. */
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
