import { type Explanation, exitCodes } from "@hearth-and-keep/command-line";

/** Everything that can be expected to go wrong in Keep. Each place that answers switches over it exhaustively. */
export type Failure =
  | { readonly kind: "database-not-set" }
  | { readonly kind: "database-unreachable"; readonly place: string }
  | { readonly kind: "database-refuses-user"; readonly place: string; readonly user: string }
  | { readonly kind: "database-missing"; readonly place: string; readonly database: string }
  | { readonly kind: "database-newer"; readonly found: number; readonly known: number }
  | { readonly kind: "migration-changed"; readonly name: string }
  | { readonly kind: "key-not-set" }
  | { readonly kind: "key-malformed" }
  | { readonly kind: "key-mismatch"; readonly given: string; readonly expected: string };

const wrongKey = 4;

/** What the person at the terminal reads: one plain sentence. */
export function explainFailure(failure: Failure): Explanation {
  return { sentences: [`Cannot start: ${sentenceFor(failure)}`], exitCode: exitCodeFor(failure) };
}

function sentenceFor(failure: Failure): string {
  switch (failure.kind) {
    case "database-not-set":
      return "no database is set; put its address (postgres://user:password@host:5432/name) into KEEP_DATABASE_URL, or into a file named by KEEP_DATABASE_URL_FILE";
    case "database-unreachable":
      return `no database answers at ${failure.place}; check that PostgreSQL runs there and that KEEP_DATABASE_URL is right`;
    case "database-refuses-user":
      return `the database at ${failure.place} refuses the user "${failure.user}"; check the name and password in KEEP_DATABASE_URL`;
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
  }
}

function exitCodeFor({ kind }: Failure): number {
  if (kind === "database-not-set" || kind === "key-not-set" || kind === "key-malformed")
    return exitCodes.wrongSettings;
  return kind === "key-mismatch" ? wrongKey : exitCodes.wrongSurroundings;
}
