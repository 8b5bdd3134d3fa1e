import type { VerifiedRow } from "./queries.ts";

/** Decides whether records without contents were erased by the deletion of their account. */
export type ErasureCheck = {
  /** A record that is the leaf which was signed. */
  add(row: VerifiedRow): void;
  /** Call after the last record. */
  reportUnexplained(): void;
};

export function createErasureCheck(report: (finding: string) => void): ErasureCheck {
  /** Number of the record of an account's deletion. */
  const deletions = new Map<string, number>();
  const erased: Pick<VerifiedRow, "account_id" | "log_id" | "number">[] = [];
  return {
    add({ account_id, stream_id, log_id, number, is_erased, event_type }) {
      if (is_erased) erased.push({ account_id, log_id, number });
      else if (event_type === "account-deleted" && stream_id === account_id)
        deletions.set(account_id, Number(number));
    },
    reportUnexplained() {
      for (const { account_id, log_id, number } of erased)
        if (Number(number) >= (deletions.get(account_id) ?? 0))
          report(`Record ${log_id}/${number} was erased, but its account ${account_id} was not deleted`);
    },
  };
}
