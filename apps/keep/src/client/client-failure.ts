/**
 * @module
 * The client side of the command line: which server, vault and folder a command uses, the token for it, requests over
 * HTTP, and the environment of a started program. Guarantees that a token is only sent to a server that a person logged
 * in to, or named on the command line or in the environment, and that no value is ever an argument or part of a message.
 * Imports nothing of the server, so that commands start fast.
 * Imported by `commands/` and `main.ts`.
 */
import { FailureError } from "@hearth-and-keep/failures";
import type { LoginError } from "@hearth-and-keep/vault-contract";

/** A failed request as the server reports it; the code may be one of a newer server. */
export type ReceivedProblem = {
  readonly status: number;
  readonly title: string;
  readonly code: string;
  readonly detail?: string;
  readonly errors?: readonly { readonly place: string; readonly reason: string }[];
};

/** Why a command of the client cannot do its work. */
export type ClientFailure =
  | { readonly kind: "usage-error"; readonly message: string; readonly next?: string }
  | { readonly kind: "server-missing" }
  | { readonly kind: "server-invalid"; readonly text: string; readonly reason: "malformed" | "plain-http" }
  | { readonly kind: "vault-missing" }
  | { readonly kind: "not-logged-in"; readonly server: string; readonly organisation: string | undefined }
  /** A token in the environment or a file, and a server that only a file of the project names. */
  | { readonly kind: "server-not-confirmed"; readonly server: string; readonly file: string }
  | { readonly kind: "server-unreachable"; readonly server: string; readonly reason: string }
  | { readonly kind: "unexpected-server"; readonly server: string }
  | {
      readonly kind: "problem";
      readonly server: string;
      readonly problem: ReceivedProblem;
      /** What the request was about, e.g. the path of a secret. */
      readonly subject: string | undefined;
    }
  | { readonly kind: "login-refused"; readonly error: LoginError["error"]; readonly description: string }
  | { readonly kind: "login-timed-out" }
  | { readonly kind: "project-file-invalid"; readonly file: string; readonly reason: string }
  | { readonly kind: "file-unusable"; readonly file: string; readonly reason: string }
  | { readonly kind: "credentials-readable"; readonly file: string }
  | { readonly kind: "keyring-unusable"; readonly server: string }
  | { readonly kind: "names-missing"; readonly names: readonly string[]; readonly folder: string }
  | { readonly kind: "name-unusable"; readonly path: string }
  | { readonly kind: "cache-missing"; readonly server: string; readonly maxAge: string }
  | { readonly kind: "token-invalid"; readonly source: string }
  | { readonly kind: "environment-too-large" }
  | { readonly kind: "sandbox-missing"; readonly reason: string }
  | { readonly kind: "egress-rule-missing"; readonly name: string }
  | { readonly kind: "program-not-found"; readonly program: string }
  | { readonly kind: "program-not-executable"; readonly program: string }
  | { readonly kind: "interrupted" };

export class ClientError extends FailureError<ClientFailure> {}

export function clientFailure(failure: ClientFailure, options?: ErrorOptions): ClientError {
  return new ClientError(failure, options);
}

export function isClientFailure<Kind extends ClientFailure["kind"]>(
  error: unknown,
  kind: Kind,
): error is ClientError & { readonly failure: Extract<ClientFailure, { kind: Kind }> } {
  return error instanceof ClientError && error.failure.kind === kind;
}
