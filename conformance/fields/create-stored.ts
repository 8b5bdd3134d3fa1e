import { setTimeout as pause } from "node:timers/promises";
import { adapter, adapterDigest, type StoredIds } from "./request-patches.ts";

export const nothingStored: StoredIds = {
  response: "resp_1",
  conversation: "conv_1",
  item: "msg_1",
  summary: "sealed",
};

type Fields = Readonly<Record<string, unknown>>;

/** Stores what the endpoint needs, new for every request because some requests delete it. */
export async function createStored(url: string, endpoint: string): Promise<StoredIds> {
  const post = async (path: string, body: object): Promise<Fields> => {
    const response = await fetch(url + path, { method: "POST", body: JSON.stringify(body) });
    const text = await response.text();
    return text === "" ? {} : JSON.parse(text);
  };
  if (endpoint === "DELETE /api/delete") await post("/api/copy", { source: "tiny", destination: "deleted" });
  if (endpoint === "POST /api/create")
    await fetch(`${url}/api/blobs/${adapterDigest}`, { method: "POST", body: new Uint8Array(adapter) });
  if (endpoint.includes("/v1/messages/batches")) return createMessageBatch(url, endpoint);
  if (/\/v1\/(?:files|batches)/u.test(endpoint)) return createFileAndBatch(url, endpoint);
  if (!/\/responses|\/conversations/u.test(endpoint)) return nothingStored;
  const input = [{ role: "user", content: "Hi" }];
  const response = String((await post("/v1/responses", { model: "tiny", input }))["id"]);
  const conversation = String((await post("/v1/conversations", { items: input }))["id"]);
  const listed = endpoint.includes("/input_items")
    ? `/v1/responses/${response}/input_items`
    : `/v1/conversations/${conversation}/items`;
  // The format of every list of items.
  const items = (await (await fetch(url + listed)).json()) as { data: { id: string }[] };
  return { ...nothingStored, response, conversation, item: items.data[0]?.id ?? "" };
}

/** Enough requests that a batch has not ended when it is canceled; otherwise one. */
function countFor(endpoint: string): number {
  return endpoint.endsWith("/cancel") ? 200 : 1;
}

const messages = [{ role: "user", content: "Hi" }];

async function createMessageBatch(url: string, endpoint: string): Promise<StoredIds> {
  await removeEnded(url);
  const requests = Array.from({ length: countFor(endpoint) }, (_, index) => ({
    custom_id: `request-${index}`,
    params: { model: "tiny", max_tokens: 4, messages },
  }));
  const path = "/v1/messages/batches";
  const response = await fetch(url + path, { method: "POST", body: JSON.stringify({ requests }) });
  const { id } = await readJson(response);
  const batch = String(id);
  const hasEnded = async () =>
    (await readJson(await fetch(`${url}${path}/${batch}`)))["processing_status"] === "ended";
  while (endpoint.startsWith("DELETE") && !(await hasEnded())) await pause(5);
  return { ...nothingStored, item: batch, batch };
}

/** A key may have a limited number of batches. */
async function removeEnded(url: string): Promise<void> {
  const path = "/v1/messages/batches";
  // The format of every list.
  const listed = (await readJson(await fetch(url + path))) as { data: { id: string }[] };
  for (const { id } of listed.data) await fetch(`${url}${path}/${id}`, { method: "DELETE" });
}

async function createFileAndBatch(url: string, endpoint: string): Promise<StoredIds> {
  const target = "/v1/chat/completions";
  const lines = Array.from({ length: countFor(endpoint) }, (_, index) =>
    JSON.stringify({ custom_id: `${index}`, method: "POST", url: target, body: { model: "tiny", messages } }),
  );
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new Blob([lines.join("\n")]), "requests.jsonl");
  const uploaded = await readJson(await fetch(`${url}/v1/files`, { method: "POST", body: form }));
  const file = String(uploaded["id"]);
  if (endpoint.includes("/files")) return { ...nothingStored, item: file, file };
  const body = JSON.stringify({ input_file_id: file, endpoint: target, completion_window: "24h" });
  const created = await readJson(await fetch(`${url}/v1/batches`, { method: "POST", body }));
  const batch = String(created["id"]);
  return { ...nothingStored, item: batch, file, batch };
}

async function readJson(response: Response): Promise<Fields> {
  const text = await response.text();
  return JSON.parse(text);
}

/** Of a conversation of one message. */
export async function createSummary(url: string): Promise<string> {
  const body = JSON.stringify({ model: "tiny", input: "Hi" });
  const response = await fetch(`${url}/v1/responses/compact`, { method: "POST", body });
  // The summary is the last item.
  const { output } = (await response.json()) as { output: { encrypted_content?: string }[] };
  return output.at(-1)?.encrypted_content ?? "";
}
