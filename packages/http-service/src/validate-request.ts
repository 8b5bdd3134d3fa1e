import { IsOptional, type Static, type TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { BodyError } from "./read-body.ts";
import type { Handler, HttpRequest, RequestHead, Route } from "./route.ts";
import { shortenValue } from "./shorten-value.ts";

/** One field of a body or query that does not match its schema; an empty name means the whole value. */
export type FieldError = { readonly field: string; readonly reason: string };

/** Passed to `toErrorResponse` when a body or query does not match the schema of its row. */
export class InvalidRequestError extends Error {
  override readonly name = "InvalidRequestError";
  readonly errors: readonly FieldError[];

  constructor(errors: readonly FieldError[]) {
    super("request does not match its schema");
    this.errors = errors;
  }
}

/** Columns of a row whose handler takes the types of these schemas. */
export function accepts<
  Actor,
  Dependencies,
  Body extends TSchema = TSchema,
  Query extends TSchema | undefined = undefined,
>(
  schemas: { readonly body?: Body; readonly query?: Query; readonly maxBodyBytes?: number },
  handle: Handler<HttpRequest<Actor, Static<Body>, QueryOf<Query>>, Dependencies>,
): Pick<Route<Actor, Dependencies>, "bodySchema" | "querySchema" | "maxBodyBytes" | "handle"> {
  return {
    ...(schemas.maxBodyBytes === undefined ? {} : { maxBodyBytes: schemas.maxBodyBytes }),
    ...(schemas.body === undefined ? {} : { bodySchema: schemas.body }),
    ...(schemas.query === undefined ? {} : { querySchema: schemas.query }),
    // The service validates body and query against these schemas before it calls the handler.
    handle: handle as Handler<HttpRequest<Actor>, Dependencies>,
  };
}

type QueryOf<Schema extends TSchema | undefined> = Schema extends TSchema
  ? Static<Schema>
  : RequestHead["query"];

/** Explains why a value does not match its schema, in the program's words. */
export type ExplainInvalid = (schema: TSchema, value: unknown) => readonly FieldError[];

/**
 * Throws unless the body and query match the row's schemas; a body with an optional schema may be missing. Schemas are
 * compiled by the first request.
 */
export function createRequestValidator(
  { bodySchema, querySchema }: Pick<Route, "bodySchema" | "querySchema">,
  explain: ExplainInvalid = () => [],
): (body: unknown, query: RequestHead["query"]) => void {
  const bodyErrors = lazyErrors(bodySchema, explain);
  const queryErrors = lazyErrors(querySchema, explain);
  return (body, query) => {
    const isMissing = bodySchema !== undefined && body === undefined;
    if (isMissing && !IsOptional(bodySchema)) throw new BodyError("missing");
    const errors = [...(isMissing ? [] : bodyErrors(body)), ...queryErrors(query)];
    if (errors.length > 0) throw new InvalidRequestError(errors);
  };
}

/** Without an explanation, TypeBox's own: at most eight errors of a value. */
function lazyErrors(
  schema: TSchema | undefined,
  explain: ExplainInvalid,
): (value: unknown) => readonly FieldError[] {
  if (schema === undefined) return () => [];
  let validator: Validator | undefined;
  return (value) => {
    validator ??= Compile(schema);
    if (validator.Check(value)) return [];
    const shortened = shortenValue(value);
    const explained = explain(schema, shortened);
    if (explained.length > 0) return explained;
    const errors = validator.Errors(shortened).map(({ instancePath, message }) => ({
      field: instancePath.split("/").slice(1).join("."),
      reason: message,
    }));
    return errors.length > 0 ? errors : [{ field: "", reason: "is too large or has an invalid value" }];
  };
}
