import type { Answer, Call, Route } from "@hearth-and-keep/http-service";
import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import type { AddressLimit } from "./access/rate-limits.ts";
import type { Actor } from "./authorization/actor.ts";
import type { Scope } from "./authorization/scopes.ts";
import type { KeepParts } from "./dependencies.ts";
import { type Mistake, requestFailure } from "./failures.ts";
import type { AnswerShape } from "./openapi/describe-answers.ts";

/** One row of the table of URLs: who may, what it takes, what it gives. The API's document is made from it. */
export type KeepRoute = Omit<Route, "handle"> & {
  /** One line for the API's document. */
  readonly summary: string;
  /** Answers, by status, of a request that went well. */
  readonly answers: Readonly<Record<number, AnswerShape>>;
} & AccessColumns &
  HandlerColumns;

export type AccessColumns =
  /** Anybody; with a limit, so many times a minute from one address. */
  | { readonly access: "public"; readonly addressLimit?: AddressLimit }
  /** A program with this scope, or a person; `any` needs none. */
  | { readonly access: "actor"; readonly scope: Scope | "any" }
  /** A person who signed in. */
  | { readonly access: "session" }
  /** A person, or a program with this scope; a person must have signed in a short while ago. */
  | { readonly access: "fresh"; readonly scope: Scope | "session" };

/** One request of somebody we know, its body and query already checked against the row's schemas. */
export type KeepCall<Body = unknown, Query = unknown> = Omit<Call, "body" | "query" | "admission"> & {
  readonly body: Body;
  readonly query: Query;
  /** Whoever a row with access to know lets in; for a public row there is none. */
  readonly actor: Actor;
};

export type HandlerColumns = {
  readonly request?: TSchema;
  readonly queryShape?: TSchema;
  readonly handle: (call: KeepCall, parts: KeepParts) => Answer | Promise<Answer>;
};

type Shapes<Body extends TSchema, Query extends TSchema> = { readonly body?: Body; readonly query?: Query };

/** A handler and the schemas that its body and query are checked against before it is called. */
export function takes<Body extends TSchema, Query extends TSchema>(
  shapes: Shapes<Body, Query>,
  handle: (call: KeepCall<Static<Body>, Static<Query>>, parts: KeepParts) => Answer | Promise<Answer>,
): HandlerColumns {
  const body = shapes.body === undefined ? undefined : compileOnce(shapes.body);
  const query = shapes.query === undefined ? undefined : compileOnce(shapes.query);
  return {
    ...(shapes.body === undefined ? {} : { request: shapes.body }),
    ...(shapes.query === undefined ? {} : { queryShape: shapes.query }),
    handle: (call, parts) => {
      if (body !== undefined && call.body === undefined) {
        throw requestFailure({ kind: "body-unreadable", reason: "missing" });
      }
      const mistakes = [
        ...(body === undefined ? [] : mistakesIn(body(), call.body)),
        ...(query === undefined ? [] : mistakesIn(query(), call.query)),
      ];
      if (mistakes.length > 0) throw requestFailure({ kind: "request-invalid", mistakes });
      // The lines above are what makes them the schemas'.
      return handle(call as KeepCall<Static<Body>, Static<Query>>, parts);
    },
  };
}

/** A checker is made of code, so one is made when the first request wants it. */
function compileOnce(schema: TSchema): () => Validator {
  let validator: Validator | undefined;
  return () => {
    validator ??= Compile(schema);
    return validator;
  };
}

const mostMistakes = 16;

function mistakesIn(validator: Validator, value: unknown): readonly Mistake[] {
  if (validator.Check(value)) return [];
  return validator
    .Errors(value)
    .slice(0, mostMistakes)
    .map(({ instancePath, message }) => ({
      place: instancePath.split("/").slice(1).join("."),
      reason: message,
    }));
}
