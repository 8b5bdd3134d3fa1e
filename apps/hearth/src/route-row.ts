import type { Answer, CallHead, Route } from "@hearth-and-keep/http-service";
import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import type { HearthCall, HearthParts } from "./dependencies.ts";
import { requestFailure } from "./failures.ts";
import type { Family } from "./protocol.ts";

/** One row of the table of URLs. */
export type HearthRoute = Omit<Route, "handle"> & {
  readonly family: Family;
  /** `key`: the caller shows one, when the server has any. There is no row without. */
  readonly access: "key";
} & HandlerColumns;

type HandlerColumns = {
  /** What the body must look like; a row without one takes none. */
  readonly request?: TSchema;
  readonly handle: (call: HearthCall, parts: HearthParts) => Answer | Promise<Answer>;
};

/** A handler and the schema that its body is checked against before it is called. */
export function takes<Schema extends TSchema>(
  request: Schema,
  handle: (call: HearthCall<Static<Schema>>, parts: HearthParts) => Answer | Promise<Answer>,
): HandlerColumns {
  const validator = Compile(request);
  return {
    request,
    handle: (call, parts) => {
      refuseInvalid(validator, call.body);
      // The line above is what makes the body one of the schema's.
      return handle(call as HearthCall<Static<Schema>>, parts);
    },
  };
}

type Handle = HandlerColumns["handle"];

/** The two hosted families share some paths; clients of the messages family say so in a header. */
export function byClient(usual: Handle, ofMessages: Handle): Handle {
  return (call, parts) => (isOfMessages(call) ? ofMessages : usual)(call, parts);
}

/** On those paths a failure is told in the words of the client's family too. */
export function failingByClient(usual: Family, ofMessages: Family): Family {
  return {
    ...usual,
    answerFailure: (problem, head) => (isOfMessages(head) ? ofMessages : usual).answerFailure(problem, head),
  };
}

function isOfMessages({ headers }: Pick<CallHead, "headers">): boolean {
  return headers["anthropic-version"] !== undefined;
}

function refuseInvalid(validator: Validator, body: unknown): void {
  if (body === undefined) throw requestFailure({ kind: "body-unreadable", reason: "missing" });
  if (validator.Check(body)) return;
  const [first] = validator.Errors(body);
  const place = (first?.instancePath ?? "").split("/").slice(1).join(".");
  throw requestFailure({ kind: "request-invalid", place, reason: first?.message ?? "is not valid" });
}
