import type { Explanation } from "@hearth-and-keep/command-line";
import { exitCodes, FailureError } from "@hearth-and-keep/failures";
import type { LoginError, OAuthError } from "@hearth-and-keep/vault-contract";
import type { AdmissionRefusal } from "./admission/decide-admission.ts";
import type { Scope } from "./authorization/scopes.ts";
import { describeProblem, type KeyCommandProblem } from "./keys/custody/key-command-problem.ts";

/** Every expected failure in Keep. Each consumer handles the union exhaustively. */
export type Failure = StartFailure | RequestFailure;

/** Failures that stop a command before it does its work. */
export type StartFailure =
  | { readonly kind: "database-not-set" }
  | { readonly kind: "database-unreachable"; readonly address: string }
  | { readonly kind: "database-refuses-user"; readonly address: string; readonly user: string }
  | { readonly kind: "database-forbids"; readonly address: string; readonly user: string }
  | { readonly kind: "database-missing"; readonly address: string; readonly database: string }
  | { readonly kind: "database-newer"; readonly found: number; readonly known: number }
  /** For commands that change nothing, and so do not migrate. */
  | { readonly kind: "database-older"; readonly found: number; readonly known: number }
  | { readonly kind: "migration-changed"; readonly name: string }
  | { readonly kind: "key-not-set" }
  | { readonly kind: "key-malformed" }
  | { readonly kind: "key-mismatch"; readonly given: string; readonly expected: string }
  | {
      readonly kind: "key-command-failed";
      readonly setting: string;
      readonly program: string;
      readonly problem: KeyCommandProblem;
    }
  | { readonly kind: "key-not-pinned"; readonly given: string; readonly expected: string }
  /** A program gave a key that this database does not know. */
  | { readonly kind: "key-not-confirmed"; readonly given: string; readonly active: string }
  | { readonly kind: "rows-not-authenticated" }
  | { readonly kind: "public-url-not-set" }
  | { readonly kind: "public-url-invalid"; readonly given: string }
  | { readonly kind: "public-url-insecure"; readonly given: string }
  | { readonly kind: "provider-address-unusable"; readonly setting: string }
  | { readonly kind: "development-refused"; readonly reason: string }
  | { readonly kind: "admission-without-rules" }
  | { readonly kind: "admission-rules-unused"; readonly admission: string }
  | { readonly kind: "membership-token-unused" }
  | { readonly kind: "membership-token-unreadable"; readonly path: string };

/** Failures that a request can end with; `problems.ts` maps them to responses. */
export type RequestFailure =
  | { readonly kind: "body-unreadable"; readonly reason: "malformed" | "missing" }
  | { readonly kind: "body-too-large" }
  | { readonly kind: "request-invalid"; readonly errors: readonly FieldError[] }
  /** Missing, unknown, expired or revoked credentials, or a disallowed address; the client does not learn which. */
  | { readonly kind: "unauthenticated" }
  | { readonly kind: "credentials-ambiguous" }
  | { readonly kind: "cross-site" }
  | { readonly kind: "insufficient-scope"; readonly scope: Scope }
  /** The request names a path that no pattern of the token matches. */
  | { readonly kind: "out-of-reach"; readonly path: string }
  /** The secret's egress rule does not allow this request, or there is none. */
  | { readonly kind: "use-not-allowed"; readonly reason: string }
  /** A token tried to create or rotate a token beyond its own grant. */
  | { readonly kind: "grant-exceeded" }
  | { readonly kind: "session-required" }
  | { readonly kind: "operator-required" }
  | { readonly kind: "sign-in-too-old" }
  /** Nobody may change what is protected alone; `subject` begins a sentence, such as the path of the secret. */
  | { readonly kind: "approval-required"; readonly subject: string }
  /** Whoever proposed a change, or created or rotated the token that did, approves it. */
  | { readonly kind: "second-person-required" }
  /** The caller's role in the organisation does not have the right. */
  | { readonly kind: "role-required" }
  | { readonly kind: "last-owner" }
  /** Also for another account's resources, which must be indistinguishable from missing ones. */
  | { readonly kind: "not-found" }
  /** Used, revoked, expired or for somebody else, which must be indistinguishable from one that never was. */
  | { readonly kind: "invitation-not-valid" }
  /** A vault outside the token's limits; responds like "not-found", so that the token does not reveal what exists. */
  | { readonly kind: "vault-not-allowed" }
  | { readonly kind: "no-such-method"; readonly allowed: readonly string[] }
  | { readonly kind: "conflict"; readonly reason: string }
  | { readonly kind: "token-already-issued"; readonly id: string }
  | {
      readonly kind: "precondition-failed";
      readonly reason: "changed" | "missing" | "exists";
      /** Of the operation in a batch. */
      readonly index?: number;
    }
  | { readonly kind: "precondition-required" }
  | { readonly kind: "idempotency-mismatch" }
  | { readonly kind: "versions-full"; readonly max: number }
  | { readonly kind: "quota-exceeded"; readonly resource: string; readonly max: number }
  /** `holder` is the path of the secret whose value contains the reference. */
  | { readonly kind: "reference-missing"; readonly reference: string; readonly holder: string }
  | { readonly kind: "reference-cycle"; readonly references: readonly string[] }
  /** A token exchange or a login, with an error code of RFC 6749, RFC 8628 or RFC 8693. */
  | {
      readonly kind: "exchange-refused";
      readonly error: (OAuthError | LoginError)["error"];
      readonly description: string;
    }
  | { readonly kind: "rate-limited"; readonly retryAfterSeconds: number }
  | { readonly kind: "provider-unavailable"; readonly provider: string }
  | { readonly kind: "sign-in-refused"; readonly reason: string }
  /** No rule of admission applies to the person; `identity` is their own, which an operator could admit. */
  | { readonly kind: "not-admitted"; readonly reason: AdmissionRefusal; readonly identity: string }
  /** A stored row fails its integrity check. */
  | { readonly kind: "integrity-broken" }
  | { readonly kind: "database-away" }
  /** Too many requests of this account are running. */
  | { readonly kind: "account-busy" }
  /** Another transaction held a lock for too long. */
  | { readonly kind: "data-locked" }
  /** The revocation is committed, but not every node has confirmed it. */
  | { readonly kind: "nodes-behind" }
  | { readonly kind: "outcome-unknown" }
  | { readonly kind: "defect" };

/** `field` is a path into the request with dots, e.g. `items.0.name`. */
export type FieldError = { readonly field: string; readonly reason: string };

export function requestFailure(failure: RequestFailure, options?: ErrorOptions): FailureError<Failure> {
  return new FailureError<Failure>(failure, options);
}

const wrongKeyExitCode = 4;

/** One sentence for the terminal, and the exit code. */
export function explainFailure(failure: StartFailure): Explanation {
  return { messages: [`Cannot start: ${messageFor(failure)}`], exitCode: exitCodeFor(failure) };
}

function messageFor(failure: StartFailure): string {
  switch (failure.kind) {
    case "database-not-set":
      return "no database is set; set KEEP_DATABASE_URL to its URL (postgres://user:password@host:5432/name), or KEEP_DATABASE_URL_FILE to a file that contains the URL";
    case "database-unreachable":
      return `cannot connect to the database at ${failure.address}; check that PostgreSQL is running there and that KEEP_DATABASE_URL is correct`;
    case "database-refuses-user":
      return `the database at ${failure.address} rejected the user "${failure.user}"; check the user name and password in KEEP_DATABASE_URL`;
    case "database-forbids":
      return `the database at ${failure.address} does not allow the user "${failure.user}" to create the schema; make the user owner of the database with CREATEROLE, or set KEEP_MIGRATION_DATABASE_URL to a user that is`;
    case "database-missing":
      return `the database "${failure.database}" does not exist at ${failure.address}; create it or correct KEEP_DATABASE_URL`;
    case "database-newer":
      return `this database was migrated by a newer Keep (schema ${failure.found}, this version supports ${failure.known}); run the newer version`;
    case "database-older":
      return `this database has the schema ${failure.found}, and this version needs ${failure.known}; use the version of Keep that wrote it, or start 'keep serve' on it once`;
    case "migration-changed":
      return `migration ${failure.name} differs from the one applied to this database; this build is not a released Keep`;
    case "key-not-set":
      return "no encryption key is set; generate one with 'keep generate-key' and set KEEP_ENCRYPTION_KEY to it, KEEP_ENCRYPTION_KEY_FILE to a file that contains it, or KEEP_ENCRYPTION_KEY_COMMAND to a program that prints it";
    case "key-malformed":
      return "the encryption key is not 32 bytes in base64; generate one with 'keep generate-key'";
    case "key-mismatch":
      return `the encryption key has fingerprint ${failure.given}, but this database was encrypted with ${failure.expected}; its secrets cannot be read without that key`;
    case "key-command-failed":
      return `no encryption key from ${failure.setting}: the program "${failure.program}" ${describeProblem(failure.problem)}`;
    case "key-not-pinned":
      return `the encryption key has fingerprint ${failure.given}, but KEEP_ENCRYPTION_KEY_FINGERPRINT requires ${failure.expected}; the key may have been replaced by somebody else`;
    case "key-not-confirmed":
      return `the program of --encryption-key-command gave a key with fingerprint ${failure.given}, which is new to this database, whose key is ${failure.active}; for a rotation, set KEEP_ENCRYPTION_KEY_FINGERPRINT to the fingerprint of the new key, otherwise somebody replaced the key`;
    case "rows-not-authenticated":
      return "the key that authenticates rows is missing; if this database is from a version before there was one, review its identities and tokens and run 'keep authenticate-rows' once, otherwise restore the database from a backup";
    case "public-url-not-set":
      return "identity providers are configured, but KEEP_PUBLIC_URL is not set; set it to the URL of Keep in a browser (https://keep.example), which providers redirect back to";
    case "public-url-invalid":
      return `KEEP_PUBLIC_URL${failure.given === "" ? "" : ` (${failure.given})`} must be a URL without a path, such as https://keep.example`;
    case "public-url-insecure":
      return `KEEP_PUBLIC_URL is ${failure.given}, which would send session cookies unencrypted; use https, or http on localhost only (http://localhost:8300)`;
    case "provider-address-unusable":
      return `${failure.setting} must be an https URL without a query; http is allowed only for providers on this machine or in a private network`;
    case "development-refused":
      return `--dev is not possible: ${failure.reason}`;
    case "admission-without-rules":
      return "KEEP_ADMISSION is rules, but there are none, so nobody could sign in; set KEEP_ALLOWED_EMAIL_DOMAINS, KEEP_ALLOWED_CODE_HOSTING_ORGS, KEEP_ALLOWED_GROUPS or KEEP_ALLOWED_IDENTITIES";
    case "admission-rules-unused":
      return `there are rules for who may sign in, but KEEP_ADMISSION is ${failure.admission}, which applies none of them; set it to rules, or remove them`;
    case "membership-token-unused":
      return "there is a token for checks of memberships, but no organizations or teams to check; set KEEP_ALLOWED_CODE_HOSTING_ORGS and KEEP_CODE_HOSTING_CLIENT_ID, or remove KEEP_CODE_HOSTING_MEMBERSHIP_TOKEN_FILE";
    case "membership-token-unreadable":
      return `KEEP_CODE_HOSTING_MEMBERSHIP_TOKEN_FILE: cannot read a token from "${failure.path}"; the file must contain the token and nothing else`;
  }
}

const settingKinds: ReadonlySet<StartFailure["kind"]> = new Set([
  "database-not-set",
  "key-not-set",
  "key-malformed",
  "public-url-not-set",
  "public-url-invalid",
  "public-url-insecure",
  "provider-address-unusable",
  "development-refused",
  "admission-without-rules",
  "admission-rules-unused",
  "membership-token-unused",
  "membership-token-unreadable",
]);

const wrongKeyKinds: ReadonlySet<StartFailure["kind"]> = new Set([
  "key-mismatch",
  "key-not-pinned",
  "key-not-confirmed",
]);

function exitCodeFor({ kind }: StartFailure): number {
  if (settingKinds.has(kind)) return exitCodes.usage;
  return wrongKeyKinds.has(kind) ? wrongKeyExitCode : exitCodes.unavailable;
}
