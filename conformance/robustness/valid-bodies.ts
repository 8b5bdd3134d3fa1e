import { type HearthRoute, routes } from "../../apps/hearth/src/routes.ts";

const model = "tiny";
const messages = [{ role: "user", content: "Say hello" }];
/** A host that may not be contacted; the error is reported in the stream, whose status is 200. */
const elsewhere = "127.0.0.1:9/team/nothing";

/** A valid body for each route, by the end of its path; routes that change models name missing ones. */
const bodies: readonly (readonly [ending: string, body: object])[] = [
  ["/api/show", { model }],
  ["/api/generate", { model, prompt: "Say hello", stream: false }],
  ["/api/chat", { model, messages, stream: false }],
  ["/api/embed", { model, input: "Say hello" }],
  ["/api/embeddings", { model, prompt: "Say hello" }],
  ["/api/tokenize", { model, prompt: "Say hello" }],
  ["/api/render", { model, messages }],
  ["/api/copy", { source: "nothing", destination: "nothing-else" }],
  ["/api/delete", { model: "nothing" }],
  ["/api/aliases", { name: "another-name", model }],
  ["/api/pull", { model: elsewhere }],
  ["/api/push", { model: elsewhere }],
  ["/api/create", { model: "nothing", from: elsewhere }],
  ["/chat/completions", { model, messages }],
  ["/completions", { model, prompt: "Say hello" }],
  ["/embeddings", { model, input: "Say hello" }],
  ["/rerank", { model: "nothing", query: "hello", documents: ["Say hello"] }],
  ["/responses", { model, input: "Say hello" }],
  ["/responses/compact", { model, input: "Say hello" }],
  ["/responses/input_tokens", { model, input: "Say hello" }],
  ["/conversations", { items: messages }],
  ["/conversations/:id", { metadata: { topic: "greetings" } }],
  ["/conversations/:id/items", { items: messages }],
  ["/messages", { model, messages, max_tokens: 4 }],
  ["/messages/batches", { requests: [{ custom_id: "one", params: { model, messages, max_tokens: 4 } }] }],
  [
    "/v1/batches",
    { input_file_id: "file-nothing", endpoint: "/v1/chat/completions", completion_window: "24h" },
  ],
  ["/count_tokens", { model, messages }],
];

export type RowWithBody = HearthRoute & { readonly bodySchema: NonNullable<HearthRoute["bodySchema"]> };

export const rowsWithBody: readonly RowWithBody[] = routes.filter(
  (row): row is RowWithBody => row.bodySchema !== undefined,
);

export function validBodyOf({ path }: Pick<HearthRoute, "path">): object {
  const [, body] = bodies.find(([ending]) => path.endsWith(ending)) ?? [];
  if (body === undefined) throw new Error(`Cannot find a valid body for "${path}"`);
  return body;
}

/** Routes whose valid body or path names something missing: what exists would be changed, or is not of that kind. */
export function isForMissing({ path }: Pick<HearthRoute, "path">): boolean {
  const isNamed = ["/api/copy", "/api/delete", "/v1/rerank", "/v1/batches"].includes(path);
  return isNamed || path.includes("/:id");
}
