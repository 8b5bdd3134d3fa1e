import { type Explanation, exitCodes } from "@hearth-and-keep/command-line";
import { FailureError } from "@hearth-and-keep/failures";
import type { Scope } from "./authorization/scopes.ts";

/** Everything that can be expected to go wrong in Keep. Each place that answers switches over it exhaustively. */
export type Failure = StartFailure | RequestFailure;

/** What keeps a command from doing its work. */
export type StartFailure =
  | { readonly kind: "database-not-set" }
  | { readonly kind: "database-unreachable"; readonly place: string }
  | { readonly kind: "database-refuses-user"; readonly place: string; readonly user: string }
  | { readonly kind: "database-forbids"; readonly place: string; readonly user: string }
  | { readonly kind: "database-missing"; readonly place: string; readonly database: string }
  | { readonly kind: "database-newer"; readonly found: number; readonly known: number }
  | { readonly kind: "migration-changed"; readonly name: string }
  | { readonly kind: "key-not-set" }
  | { readonly kind: "key-malformed" }
  | { readonly kind: "key-mismatch"; readonly given: string; readonly expected: string }
  | { readonly kind: "public-url-not-set" }
  | { readonly kind: "public-url-invalid"; readonly given: string }
  | { readonly kind: "public-url-insecure"; readonly given: string }
  | { readonly kind: "provider-address-unusable"; readonly setting: string };

/** What a caller is told instead of an answer; `problems.ts` has the words. */
export type RequestFailure =
  | { readonly kind: "body-unreadable"; readonly reason: "malformed" | "missing" }
  | { readonly kind: "body-too-large" }
  | { readonly kind: "request-invalid"; readonly mistakes: readonly Mistake[] }
  /** One for absent, unknown, expired, revoked, and used from elsewhere than allowed: nobody learns which. */
  | { readonly kind: "unauthenticated" }
  | { readonly kind: "credentials-ambiguous" }
  | { readonly kind: "cross-site" }
  | { readonly kind: "insufficient-scope"; readonly scope: Scope }
  /** Asked for by a path that the token's patterns do not reach. */
  | { readonly kind: "out-of-reach"; readonly path: string }
  /** A token would give away more than it may do itself. */
  | { readonly kind: "grant-exceeded" }
  | { readonly kind: "session-required" }
  | { readonly kind: "sign-in-too-old" }
  /** Also for what belongs to another account: the two must look the same. */
  | { readonly kind: "not-found" }
  | { readonly kind: "no-such-method"; readonly allowed: readonly string[] }
  | { readonly kind: "conflict"; readonly reason: string }
  | { readonly kind: "token-already-issued"; readonly id: string }
  | { readonly kind: "precondition-failed" }
  | { readonly kind: "precondition-required" }
  | { readonly kind: "idempotency-mismatch" }
  | { readonly kind: "versions-full"; readonly most: number }
  | { readonly kind: "quota-exceeded"; readonly what: string; readonly most: number }
  | { readonly kind: "reference-missing"; readonly reference: string }
  | { readonly kind: "reference-cycle"; readonly references: readonly string[] }
  | { readonly kind: "rate-limited"; readonly retryAfterSeconds: number }
  | { readonly kind: "provider-unavailable"; readonly provider: string }
  | { readonly kind: "sign-in-refused"; readonly reason: string }
  /** A row is not what was sealed here. */
  | { readonly kind: "integrity-broken" }
  | { readonly kind: "database-away" }
  /** What was asked for is done, but nobody can say yet that every node knows. */
  | { readonly kind: "nodes-behind" }
  | { readonly kind: "outcome-unknown" }
  | { readonly kind: "defect" };

/** What is wrong with one part of a request; the place is written with dots, as `items.0.name`. */
export type Mistake = { readonly place: string; readonly reason: string };

export function requestFailure(failure: RequestFailure, options?: ErrorOptions): FailureError<Failure> {
  return new FailureError<Failure>(failure, options);
}

const wrongKey = 4;

/** What the person at the terminal reads: one plain sentence. */
export function explainFailure(failure: StartFailure): Explanation {
  return { sentences: [`Cannot start: ${sentenceFor(failure)}`], exitCode: exitCodeFor(failure) };
}

function sentenceFor(failure: StartFailure): string {
  switch (failure.kind) {
    case "database-not-set":
      return "no database is set; put its address (postgres://user:password@host:5432/name) into KEEP_DATABASE_URL, or into a file named by KEEP_DATABASE_URL_FILE";
    case "database-unreachable":
      return `no database answers at ${failure.place}; check that PostgreSQL runs there and that KEEP_DATABASE_URL is right`;
    case "database-refuses-user":
      return `the database at ${failure.place} refuses the user "${failure.user}"; check the name and password in KEEP_DATABASE_URL`;
    case "database-forbids":
      return `the database at ${failure.place} does not let the user "${failure.user}" set Keep up; make it owner of the database and let it create roles, or name such a login by KEEP_MIGRATION_DATABASE_URL`;
    case "database-missing":
      return `there is no database "${failure.database}" at ${failure.place}; create it, or correct KEEP_DATABASE_URL`;
    case "database-newer":
      return `a newer Keep has set up this database (schema ${failure.found}, this one knows ${failure.known}); start that version`;
    case "migration-changed":
      return `migration ${failure.name} is not the one this database was set up with; this is not a released Keep`;
    case "key-not-set":
      return "no encryption key is set; make one with 'keep make-key' and put it into KEEP_ENCRYPTION_KEY, or into a file named by KEEP_ENCRYPTION_KEY_FILE";
    case "key-malformed":
      return "the encryption key is not 32 bytes written in base64; make one with 'keep make-key'";
    case "key-mismatch":
      return `the encryption key given has fingerprint ${failure.given}, but this database was set up with ${failure.expected}; without that key its secrets cannot be read`;
    case "public-url-not-set":
      return "identity providers are set up but not where people reach Keep; put its address (https://keep.example) into KEEP_PUBLIC_URL, so that providers know where to send people back to";
    case "public-url-invalid":
      return `KEEP_PUBLIC_URL${failure.given === "" ? "" : ` (${failure.given})`} is not an address without a path, such as https://keep.example`;
    case "public-url-insecure":
      return `KEEP_PUBLIC_URL is ${failure.given}, where sessions would travel in clear; http is for this machine alone (http://localhost:8300), elsewhere it must be https`;
    case "provider-address-unusable":
      return `${failure.setting} is not an https address without a query; http is for providers on this machine or at an address of a private network`;
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
]);

function exitCodeFor({ kind }: StartFailure): number {
  if (settingKinds.has(kind)) return exitCodes.wrongSettings;
  return kind === "key-mismatch" ? wrongKey : exitCodes.wrongSurroundings;
}
