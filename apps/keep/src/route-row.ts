import type { HttpRequest, Route } from "@hearth-and-keep/http-service";
import type { Static, TSchema } from "typebox";
import type { AddressLimit } from "./access/rate-limits.ts";
import type { Actor } from "./authorization/actor.ts";
import type { OrganisationRight } from "./authorization/roles.ts";
import type { Scope } from "./authorization/scopes.ts";
import type { KeepDependencies } from "./dependencies.ts";
import type { ResponseShape } from "./openapi/describe-responses.ts";

/** One row of the route table: required access, request schemas, handler, and what the OpenAPI document says of it. */
export type KeepRoute = Route<Actor, KeepDependencies> & {
  /** Names the operation in generated clients, so it never changes: a verb and what it applies to. */
  readonly operationId: string;
  /** One line for the OpenAPI document. */
  readonly summary: string;
  /** Successful responses by status. */
  readonly responses: Readonly<Record<number, ResponseShape>>;
  /** Errors of the request as in OAuth (RFC 6749 section 5.2) instead of problem documents. */
  readonly errors?: "oauth";
} & AccessColumns;

export type AccessColumns =
  /** Anybody, optionally rate-limited by client address. */
  | { readonly access: "public"; readonly addressLimit?: AddressLimit }
  /** A token with this scope, or a signed-in person; `any` accepts every token. */
  | { readonly access: "actor"; readonly scope: Scope | "any" }
  /** A signed-in person. */
  | { readonly access: "session" }
  /** A signed-in operator; for a change, one who signed in recently. */
  | { readonly access: "operator" | "fresh-operator" }
  /**
   * A signed-in member of the organisation in the path, whose role has this right; for a change, one who signed in
   * recently. The handler's actor is in the organisation's account.
   */
  | { readonly access: "member" | "fresh-member"; readonly right: OrganisationRight }
  /** A token with this scope, or a person who signed in recently; `session` accepts no token. */
  | { readonly access: "fresh"; readonly scope: Scope | "session" };

/**
 * An authenticated request whose body and query match the row's schemas. The actor is undefined at run time on public
 * rows, whose handlers do not read it.
 */
export type KeepRequest<Body = unknown, Query = unknown> = HttpRequest<Actor, Body, Query>;

export type BodyRequest<Body extends TSchema> = KeepRequest<Static<Body>>;

export type QueryRequest<Query extends TSchema> = KeepRequest<unknown, Static<Query>>;
