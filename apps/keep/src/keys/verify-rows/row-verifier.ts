import type { Database } from "../../database/open-database.ts";
import type { RowOfEpoch } from "../row-integrity/row-macs.ts";
import type { VaultKeys } from "../vault-keys.ts";
import type { LoggedAccount } from "./logged-account.ts";
import type { VerificationKeys } from "./verify-server-keys.ts";

export type RowVerifier = VerificationKeys & {
  readonly database: Pick<Database, "query" | "queryInAccount">;
  readonly vaultKeys: Pick<VaultKeys, "ofVersion">;
  readonly report: (finding: string) => void;
};

/** The rows of one account. */
export type AccountContext = RowVerifier & {
  readonly accountId: string;
  readonly logged: LoggedAccount;
  readonly epochs: EpochCheck;
};

/** Whether a row's MAC is of the account's epoch, or of an earlier one. */
export type EpochCheck = {
  isCurrent(row: RowOfEpoch, mac: Buffer | null): boolean;
  isEarlier(row: RowOfEpoch, mac: Buffer | null): boolean;
};
