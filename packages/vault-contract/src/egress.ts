import { type Static, Type } from "typebox";
import { closed, pathPattern } from "./shared-fields.ts";

const host = Type.String({
  minLength: 1,
  maxLength: 260,
  pattern: "^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*(?::[1-9][0-9]{0,4})?$",
  description: "Name of a host in lower case, e.g. `api.github.com`; with a port unless it is 443",
  "x-expected": "a host in lower case, such as api.github.com or git.example:8443",
});
const httpMethod = Type.Enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], {
  title: "EgressMethod",
  description: "Method of a request",
});

/** For what requests an agent may use a secret whose value it does not see. */
export const egressRule = Type.Object(
  {
    hosts: Type.Array(host, {
      minItems: 1,
      maxItems: 32,
      uniqueItems: true,
      description: "The hosts that may get the value",
    }),
    methods: Type.Optional(
      Type.Array(httpMethod, {
        minItems: 1,
        maxItems: 6,
        uniqueItems: true,
        description: "Methods of such requests; all by default",
      }),
    ),
    paths: Type.Optional(
      Type.Array(pathPattern, {
        minItems: 1,
        maxItems: 32,
        uniqueItems: true,
        description: "Patterns of their paths, e.g. `/repos/**`; all by default",
      }),
    ),
    ask: Type.Boolean({ description: "Whether a person approves the first use for each host of a run" }),
  },
  {
    ...closed,
    title: "EgressRule",
    description: "For what requests an agent may use the secret without seeing its value",
  },
);

export type EgressRule = Static<typeof egressRule>;

/** A request that an agent makes. */
export const valueUse = Type.Object(
  {
    host,
    method: httpMethod,
    path: Type.String({
      minLength: 1,
      maxLength: 2048,
      pattern: "^/[!-~]*$",
      description: "Path of the URL, without its query",
      "x-expected": "the path of a URL, such as /user/repos",
    }),
  },
  { ...closed, title: "ValueUse", description: "The request in which the value is sent" },
);

export type ValueUse = Static<typeof valueUse>;
