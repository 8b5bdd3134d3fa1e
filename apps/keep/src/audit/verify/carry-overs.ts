import type { Database } from "../../database/open-database.ts";
import { listAllChains, type StoredChain } from "../chains/queries.ts";
import type { VerifiedRow } from "./queries.ts";

/** Compares the chains of earlier versions with what the log says of them. */
export type CarryOverCheck = {
  /** A record that is the leaf which was signed. */
  add(row: VerifiedRow): void;
  /** A stream of which older records are archived, perhaps the one that carried its chain over. */
  addArchived(stream: string): void;
  /** Call after the last record. */
  compareWithChains(database: Pick<Database, "acrossAccounts">): Promise<void>;
};

/** The first record of a stream that began in the log. */
const firstTypes: ReadonlySet<string | null> = new Set(["account-created", "vault-created"]);

export function createCarryOverCheck(report: (finding: string) => void): CarryOverCheck {
  /** Hashes at the ends of chains, by stream. */
  const ends = new Map<string, string>();
  const begun = new Set<string>();
  /** Streams of which a record cannot be read. */
  const unreadable = new Set<string>();
  const compare = ({ chain, hash, isCarriedOver }: StoredChain): void => {
    const end = ends.get(chain);
    ends.delete(chain);
    if (begun.has(chain)) report(`Chain ${chain} was added: its stream began in the log`);
    else if (end === undefined && isCarriedOver && !unreadable.has(chain))
      report(`Chain ${chain} was added: no record of the log says that it was carried over`);
    else if (end !== undefined && end !== hash) report(`Chain ${chain} does not end as it was carried over`);
  };
  return {
    add({ stream_id, account_id, is_erased, event_type, chain_end }) {
      if (is_erased) unreadable.add(stream_id);
      if (firstTypes.has(event_type) && isOfStream({ stream_id, account_id, event_type }))
        begun.add(stream_id);
      if (chain_end === null) return;
      if (ends.has(stream_id)) report(`Chain ${stream_id} was carried over twice`);
      ends.set(stream_id, chain_end);
    },
    addArchived: (stream) => void unreadable.add(stream),
    async compareWithChains(database) {
      for (let page = await listAllChains(database, null); page.length > 0; ) {
        for (const chain of page) compare(chain);
        page = await listAllChains(database, page.at(-1)?.chain ?? null);
      }
      for (const chain of ends.keys()) report(`Chain ${chain} was removed after it was carried over`);
    },
  };
}

/** The account's own stream begins with the account. */
function isOfStream({
  stream_id,
  account_id,
  event_type,
}: Pick<VerifiedRow, "stream_id" | "account_id" | "event_type">): boolean {
  return (event_type === "account-created") === (stream_id === account_id);
}
