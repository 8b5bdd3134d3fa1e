import { validBodyOf } from "../robustness/valid-bodies.ts";
import type { FieldRow } from "./account-for-fields.ts";
import { createStored, createSummary, nothingStored } from "./create-stored.ts";
import { type Patch, patchFor, patchForVariant, type StoredIds, speech } from "./request-patches.ts";

export type FieldResponse = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Names in the header `hearth-ignored`, by kind. */
  readonly ignored: ReadonlyMap<string, readonly string[]>;
};

/** Sends requests of one family to a server. */
export type FieldSender = {
  /** A request with the field of a row and its sample. */
  readonly sendField: (row: FieldRow) => Promise<FieldResponse>;
  /** The valid request of an endpoint, without any of its optional fields. */
  readonly sendValid: (endpoint: string) => Promise<FieldResponse>;
  /** A request to an endpoint that is not served. */
  readonly sendUnserved: (endpoint: string) => Promise<FieldResponse>;
};

type Addition = {
  readonly patch?: Patch;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The names of fields that clients send as headers. */
export const headerNames: Readonly<Record<string, string>> = {
  betas: "anthropic-beta",
  user_profile_id: "anthropic-user-profile-id",
  workspace_id: "anthropic-workspace-id",
};

export function createFieldSender(url: string, headers: Readonly<Record<string, string>>): FieldSender {
  const send = async (endpoint: string, path: string, addition: Addition): Promise<FieldResponse> => {
    const [method = ""] = endpoint.split(" ");
    const query = new URLSearchParams(addition.query).toString();
    const response = await fetch(`${url}${path}${query === "" ? "" : `?${query}`}`, {
      method,
      headers: { ...headers, ...addition.headers },
      ...(method === "GET" ? {} : { body: writeBody(endpoint, addition.patch) }),
    });
    return {
      status: response.status,
      contentType: response.headers.get("content-type") ?? "",
      body: await response.text(),
      ignored: parseIgnored(response.headers.get("hearth-ignored") ?? ""),
    };
  };
  const sendServed = async (
    { endpoint, name }: Pick<FieldRow, "endpoint" | "name">,
    additionFor: (ids: StoredIds) => Addition,
  ) => {
    const stored = await createStored(url, endpoint);
    const ids = name === "input:compaction" ? { ...stored, summary: await createSummary(url) } : stored;
    return send(endpoint, pathOf(endpoint, ids), additionFor(ids));
  };
  return {
    sendField: (row) => sendServed(row, (ids) => additionOf(row, ids)),
    sendValid: (endpoint) =>
      sendServed({ endpoint, name: "" }, (ids) => ({ patch: requiredIds(endpoint, ids) })),
    sendUnserved: (endpoint) => send(endpoint, pathOf(endpoint, nothingStored), {}),
  };
}

/** What a valid request must name. */
function requiredIds(endpoint: string, { file }: StoredIds): Patch {
  return endpoint === "POST /v1/batches" ? { input_file_id: file } : {};
}

/** Endpoints that take a form instead of JSON. */
const formEndpoints = new Set(["POST /v1/audio/transcriptions", "POST /v1/files"]);

function writeBody(endpoint: string, patch: Patch = {}): string | FormData {
  const body = { ...bodyOf(endpoint), ...patch };
  if (!formEndpoints.has(endpoint)) return JSON.stringify(body);
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) {
    if (name === "expires_after") {
      form.append("expires_after[anchor]", "created_at");
      form.append("expires_after[seconds]", "3600");
    } else if (Buffer.isBuffer(value)) form.append(name, new Blob([new Uint8Array(value)]), "speech.wav");
    else if (Array.isArray(value)) for (const each of value) form.append(`${name}[]`, String(each));
    else form.append(name, String(value));
  }
  return form;
}

function additionOf(row: FieldRow, ids: StoredIds): Addition {
  const { name, location, sample } = row;
  switch (location) {
    case "path":
      return {};
    case "header":
      return { headers: { [headerNames[name] ?? name]: "text" } };
    case "query":
      if (name.startsWith("after")) return { query: { [name]: ids.item } };
      return { query: { [Array.isArray(sample) ? `${name}[]` : name]: String(sample) } };
    case "body":
      if (name.includes(":")) return { patch: patchForVariant(row, ids) };
      return { patch: patchFor(row, ids) ?? setField(row) };
  }
}

function setField({ endpoint, name, sample }: FieldRow): Patch {
  const [field = "", inner] = name.split(".");
  if (inner === undefined) return { [field]: sample };
  const object = { ...companionsOf(endpoint)[field], [inner]: sample };
  return { [field]: field === "messages" || field === "tools" ? [object] : object };
}

/** Required beside any other field of the same object. */
function companionsOf(endpoint: string): Readonly<Record<string, object>> {
  const parameters = { type: "object" };
  const isAnthropic = endpoint.includes("/v1/messages");
  return {
    messages: { role: "user", content: "Hi" },
    tools: isAnthropic
      ? { name: "look", input_schema: parameters }
      : { type: "function", name: "look", parameters },
    thinking: { type: "enabled" },
    tool_choice: { type: "auto" },
    output_format: { type: "json_schema" },
  };
}

function bodyOf(endpoint: string): object {
  const own = ownBodies[endpoint];
  if (own !== undefined) return own;
  const [, path = ""] = endpoint.split(" ");
  try {
    return validBodyOf({ path });
  } catch {
    return {};
  }
}

/** Bodies that name what exists, because the server of this test may be changed. */
const ownBodies: Readonly<Record<string, object>> = {
  "POST /api/copy": { source: "tiny", destination: "copied" },
  "DELETE /api/delete": { model: "deleted" },
  "POST /api/create": { model: "created", from: "tiny" },
  "POST /v1/audio/transcriptions": { model: "hearing", file: speech },
  "POST /v1/files": { purpose: "user_data", file: Buffer.from("Hi") },
};

function pathOf(endpoint: string, { response, conversation, item, file, batch }: StoredIds): string {
  const [, path = ""] = endpoint.split(" ");
  return path
    .replace("/responses/:id", `/responses/${response}`)
    .replace("/conversations/:id", `/conversations/${conversation}`)
    .replace("/items/:id", `/items/${item}`)
    .replace("/files/:id", `/files/${file ?? "file_1"}`)
    .replace("/batches/:id", `/batches/${batch ?? "batch_1"}`)
    .replaceAll(":id", "tiny");
}

function parseIgnored(header: string): FieldResponse["ignored"] {
  const members = header.matchAll(/(?<kind>[a-z]+)=\((?<names>[^()]*)\)/gu);
  return new Map(
    [...members].map(({ groups: { kind = "", names = "" } = {} }) => [
      kind,
      [...names.matchAll(/"(?<name>[^"]*)"/gu)].map(({ groups: { name = "" } = {} }) => name),
    ]),
  );
}
