/** Every audited event, with the fields of its record. Records never contain a value, a token or a hash of either. */
export type AuditEvent =
  | { readonly type: "account-created" | "account-deleted" | "operator-added" | "operator-removed" }
  /** By the account of an operator, or the command line. */
  | { readonly type: "account-suspended" | "account-resumed"; readonly operator: string }
  | { readonly type: "account-paused"; readonly reason: "membership-ended" | "membership-unconfirmed" }
  /** By an admitted sign-in with the identity. */
  | { readonly type: "account-unpaused"; readonly identity: string }
  /** In the log of the operator. */
  | { readonly type: "account-managed"; readonly account: string; readonly change: "suspended" | "resumed" }
  | { readonly type: "sign-in-refused"; readonly identity: string; readonly reason: string }
  | {
      readonly type: "signed-in" | "identity-linked" | "identity-unlinked";
      readonly identity: string;
      readonly provider: string;
    }
  /** The following are in the log of an organisation. */
  | { readonly type: "organisation-created" | "organisation-renamed"; readonly name: string }
  | { readonly type: "member-added" | "member-changed"; readonly person: string; readonly role: string }
  | { readonly type: "member-removed"; readonly person: string }
  | { readonly type: "invitation-created"; readonly invitation: string; readonly role: string }
  | { readonly type: "invitation-accepted" | "invitation-revoked"; readonly invitation: string }
  | {
      readonly type: "team-created" | "team-renamed" | "team-deleted";
      readonly team: string;
      readonly name: string;
    }
  | {
      readonly type: "team-group-changed";
      readonly team: string;
      /** Absent if no group of the provider fills the team any more. */
      readonly group?: string;
      /** How many members the previous group had put in. */
      readonly removed: number;
    }
  | {
      readonly type: "team-member-added" | "team-member-removed";
      readonly team: string;
      readonly person: string;
      /** By which a sign-in changed the team; absent if an owner did. */
      readonly group?: string;
    }
  /** Of a sign-in that did not say which groups the person is in, or said more than a member can have. */
  | { readonly type: "team-groups-skipped"; readonly person: string; readonly reason: string }
  /** In the log of the vault; the holder is `person:` or `team:` with an id. */
  | {
      readonly type: "grant-added" | "grant-removed";
      readonly grant: string;
      readonly holder: string;
      readonly role: string;
      /** Absent for the whole vault. */
      readonly paths?: readonly string[];
    }
  | { readonly type: "session-ended"; readonly session: string }
  | { readonly type: "vault-created" | "vault-changed"; readonly vault: string; readonly name: string }
  /** In the logs of both accounts, and of the vault in both. */
  | {
      readonly type: "vault-transferred-out" | "vault-transferred-in";
      readonly vault: string;
      readonly name: string;
      /** Ids of accounts. */
      readonly from: string;
      readonly to: string;
    }
  | { readonly type: "vault-deleted" | "vault-restored" | "vault-purged"; readonly vault: string }
  | { readonly type: "folder-created" | "folder-deleted"; readonly path: string }
  | { readonly type: "folder-moved"; readonly path: string; readonly to: string }
  | (SecretEvent & {
      readonly type: "secret-written" | "version-destroyed";
      readonly version: number;
    })
  /** `from` is the version whose value the new one has. */
  | (SecretEvent & {
      readonly type: "version-restored";
      readonly version: number;
      readonly from: number;
    })
  | (SecretEvent & {
      readonly type: "secret-changed" | "secret-deleted" | "secret-restored" | "secret-purged";
    })
  | { readonly type: "value-read"; readonly secret: string; readonly path: string; readonly version: number }
  /** By the command line, for a request that an agent makes without seeing the value. */
  | {
      readonly type: "value-used";
      readonly secret: string;
      readonly path: string;
      readonly version: number;
      readonly host: string;
      readonly method: string;
      /** Path of the request's URL. */
      readonly request_path: string;
    }
  /** `secrets` lists ids with versions, e.g. `0198…@3`. */
  | {
      readonly type: "values-read" | "values-exported";
      readonly secrets: readonly string[];
      readonly path: string;
    }
  | { readonly type: "values-imported"; readonly written: number; readonly path: string }
  /** `secrets` lists the versions that were decrypted; their values were not returned. */
  | {
      readonly type: "folders-compared";
      readonly secrets: readonly string[];
      readonly path: string;
      readonly to: string;
    }
  | { readonly type: "values-promoted"; readonly written: number; readonly path: string; readonly to: string }
  | (ChangeEvent & {
      readonly type: "change-proposed";
      readonly reason: string;
      readonly operations: number;
    })
  /** Both as in rows: `person:` or `token:` with an id. */
  | (ChangeEvent & { readonly type: "change-approved"; readonly proposer: string; readonly approver: string })
  | (ChangeEvent & {
      readonly type: "change-rejected" | "change-withdrawn" | "change-expired";
      readonly proposer: string;
    })
  /** The values of a proposed change were returned. */
  | (ChangeEvent & { readonly type: "change-read" })
  | TokenEvent
  | {
      readonly type: "trust-rule-created" | "trust-rule-changed" | "trust-rule-deleted";
      readonly rule: string;
      readonly name: string;
    }
  /** Issuer and subject are what the token says, and false unless it was verified. */
  | {
      readonly type: "token-exchange-refused";
      readonly issuer: string;
      readonly subject: string;
      readonly verified: boolean;
      readonly reason: string;
      /** From which the token was presented. */
      readonly address: string;
    }
  | { readonly type: "data-key-rotated" | "data-key-destroyed"; readonly version: number }
  | { readonly type: "integrity-broken"; readonly secret: string }
  /** The end of a chain in which an earlier version recorded. */
  | { readonly type: "chain-carried-over"; readonly seq: number; readonly hash: string }
  | {
      readonly type: "denied";
      readonly route: string;
      readonly target: string;
      readonly reason: string;
    };

type ChangeEvent = {
  readonly change: string;
  /** Of what was reviewed; keyed, so that nobody can test a guess of a value with it. */
  readonly fingerprint: string;
};

type SecretEvent = {
  readonly secret: string;
  /** Folder and name joined. */
  readonly path: string;
};

type TokenEvent =
  /** In the log of the person; the address is that of the machine. */
  | {
      readonly type: "command-line-approved" | "command-line-denied";
      readonly machine: string;
      readonly machine_address: string;
    }
  | {
      readonly type: "token-created";
      readonly token: string;
      readonly name: string;
      readonly scopes: readonly string[];
      /** Of the token that it was exchanged for. */
      readonly issuer?: string;
      readonly subject?: string;
      /** The member to whom a token of an organisation belongs. */
      readonly owner?: string;
    }
  | { readonly type: "token-changed" | "token-rotated"; readonly token: string; readonly name: string }
  | { readonly type: "token-revoked"; readonly token: string; readonly reason: string };

export type AuditOutcome = "read" | "changed" | "denied" | "signed-in";
