import { STATUS_CODES } from "node:http";
import { problem } from "@hearth-and-keep/vault-contract";
import type { TSchema } from "typebox";
import { exampleOf } from "./example-of.ts";

/** No body, a JSON body with a schema, a body of another content type, or the client's choice of both. */
export type ResponseShape = { readonly json?: TSchema; readonly type?: string } | "empty";

export type ResponseSource = {
  readonly method: string;
  readonly path: string;
  readonly access: string;
  readonly bodySchema?: TSchema;
  readonly querySchema?: TSchema;
  readonly responses: Readonly<Record<number, ResponseShape>>;
};

/** Responses by status: those of the row, and a problem document for every error status it can return. */
export function describeResponses(row: ResponseSource): Readonly<Record<string, object>> {
  const own = Object.entries(row.responses).map(([status, shape]) => [
    status,
    describeResponse(row, status, shape),
  ]);
  const problems = problemStatuses(row)
    .filter((status) => !(status in row.responses))
    .map((status) => [String(status), { $ref: `#/components/responses/${problemName(status)}` }]);
  return Object.fromEntries([...problems, ...own, ["431", headTooLarge]]);
}

/** Sent by the HTTP parser before the request is routed, so it has no body. */
const headTooLarge = { description: "Request URL and headers are too large" };

const requestIdHeader = {
  "X-Request-Id": {
    description: "Identifies this request in the server log",
    schema: { type: "string", maxLength: 64 },
  },
};

const limitHeaders = {
  RateLimit: {
    description: "Remaining requests, and seconds until the limit resets",
    schema: { type: "string", maxLength: 256 },
  },
  "RateLimit-Policy": {
    description: "Request limit and its time window in seconds",
    schema: { type: "string", maxLength: 256 },
  },
};

const entityTagHeader = {
  ETag: {
    description: "Current revision; send it back as If-Match",
    schema: { type: "string", maxLength: 128 },
  },
};

function describeResponse({ path, access }: ResponseSource, status: string, shape: ResponseShape): object {
  const isVaultRoute = path.includes(":vault") && Number(status) < 300;
  return {
    description: STATUS_CODES[status] ?? "Response",
    headers: {
      ...requestIdHeader,
      ...(access === "public" ? {} : limitHeaders),
      ...(isVaultRoute ? entityTagHeader : {}),
    },
    ...contentOf(shape),
  };
}

function contentOf(shape: ResponseShape): object {
  if (shape === "empty") return {};
  const { json, type } = shape;
  return {
    content: {
      ...(json === undefined ? {} : { "application/json": { schema: json, ...exampleOf(json) } }),
      ...(type === undefined ? {} : { [type]: {} }),
    },
  };
}

/** Error statuses of authentication, validation and the handler itself. */
function problemStatuses({
  method,
  path,
  access,
  bodySchema,
  querySchema,
}: ResponseSource): readonly number[] {
  const isChange = method !== "GET";
  return [
    404,
    429,
    500,
    503,
    ...(access === "public" ? [] : [400, 401, 403]),
    // From pages of other sites.
    ...(/^\/(?:auth|invitation|login)\//u.test(path) ? [403] : []),
    ...(bodySchema === undefined ? [] : [400, 413, 422]),
    ...(querySchema === undefined && !path.includes("*") ? [] : [422]),
    ...(isChange ? [400, 409, 412, 413, 422, 428] : []),
  ];
}

const retryHeader = {
  "Retry-After": { description: "Seconds to wait", schema: { type: "string", pattern: "^[0-9]{1,6}$" } },
};

const statusesOfProblems = [400, 401, 403, 404, 409, 412, 413, 422, 428, 429, 500, 503];

/** The problem documents that operations refer to, by name. */
export function describeProblems(): Readonly<Record<string, object>> {
  return Object.fromEntries(
    statusesOfProblems.map((status) => [problemName(status), describeProblem(status)]),
  );
}

/** E.g. `NotFound`. */
function problemName(status: number): string {
  return (STATUS_CODES[status] ?? "Error").replaceAll(/[^A-Za-z]/gu, "");
}

function describeProblem(status: number): object {
  return {
    description: STATUS_CODES[status] ?? "Error",
    headers: { ...requestIdHeader, ...(status === 429 || status === 503 ? retryHeader : {}) },
    content: { "application/problem+json": { schema: problem } },
  };
}
