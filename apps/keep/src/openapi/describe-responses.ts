import { STATUS_CODES } from "node:http";
import type { TSchema } from "typebox";
import { exampleOf } from "./example-of.ts";

/** Nothing, JSON of a schema, or something else of this content type. */
export type AnswerShape = { readonly json: TSchema } | { readonly type: string } | "empty";

export type AnswerSource = {
  readonly method: string;
  readonly path: string;
  readonly access: string;
  readonly bodySchema?: TSchema;
  readonly querySchema?: TSchema;
  readonly responses: Readonly<Record<number, AnswerShape>>;
};

/** Answers by status: what the row promises, and a problem document for each way it can refuse. */
export function describeAnswers(row: AnswerSource): Readonly<Record<string, object>> {
  const own = Object.entries(row.responses).map(([status, shape]) => [
    status,
    describeAnswer(row, status, shape),
  ]);
  const refusals = refusalsOf(row)
    .filter((status) => !(status in row.responses))
    .map((status) => [String(status), describeRefusal(status)]);
  return Object.fromEntries([...refusals, ...own, ["431", headTooLarge]]);
}

/** Found before there is a request to speak of, so nothing is in it. */
const headTooLarge = { description: "The address and the headers together are too large" };

const requestIdHeader = {
  "X-Request-Id": { description: "Names this request in the log", schema: { type: "string", maxLength: 64 } },
};

const limitHeaders = {
  RateLimit: {
    description: "How many requests are left, and when there are more again",
    schema: { type: "string", maxLength: 256 },
  },
  "RateLimit-Policy": {
    description: "How many requests there may be in what time",
    schema: { type: "string", maxLength: 256 },
  },
};

const entityTagHeader = {
  ETag: { description: "Its revision; send it as If-Match", schema: { type: "string", maxLength: 128 } },
};

function describeAnswer({ path, access }: AnswerSource, status: string, shape: AnswerShape): object {
  const isOfVault = path.includes(":vault") && Number(status) < 300;
  return {
    description: STATUS_CODES[status] ?? "The answer",
    headers: {
      ...requestIdHeader,
      ...(access === "public" ? {} : limitHeaders),
      ...(isOfVault ? entityTagHeader : {}),
    },
    ...contentOf(shape),
  };
}

function contentOf(shape: AnswerShape): object {
  if (shape === "empty") return {};
  if ("type" in shape) return { content: { [shape.type]: {} } };
  return { content: { "application/json": { schema: shape.json, ...exampleOf(shape.json) } } };
}

/** Statuses that something in front of the handler, or the handler itself, can refuse with. */
function refusalsOf({
  method,
  path,
  access,
  bodySchema: request,
  querySchema: queryShape,
}: AnswerSource): readonly number[] {
  const isChange = method !== "GET";
  return [
    404,
    429,
    500,
    503,
    ...(access === "public" ? [] : [400, 401, 403]),
    ...(path.startsWith("/auth/") ? [403] : []),
    ...(request === undefined ? [] : [400, 413, 422]),
    ...(queryShape === undefined && !path.includes("*") ? [] : [422]),
    ...(isChange ? [400, 409, 412, 413, 422, 428] : []),
  ];
}

const retryHeader = {
  "Retry-After": { description: "Seconds to wait", schema: { type: "string", pattern: "^[0-9]{1,6}$" } },
};

function describeRefusal(status: number): object {
  return {
    description: STATUS_CODES[status] ?? "Refused",
    headers: { ...requestIdHeader, ...(status === 429 || status === 503 ? retryHeader : {}) },
    content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
  };
}
