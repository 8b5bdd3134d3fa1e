import { createHash } from "node:crypto";
import { makeWav } from "../../apps/hearth/src/audio/test/make-audio.ts";
import { writeAdapter } from "../../apps/hearth/src/models/test/adapter-file.ts";
import type { FieldRow } from "./account-for-fields.ts";

/** Fields of a body that make the field of a row valid, and the row's own field among them. */
export type Patch = Readonly<Record<string, unknown>>;

/** What the server has stored, for fields and paths that name it. */
export type StoredIds = {
  readonly response: string;
  readonly conversation: string;
  /** Something in the list of the endpoint. */
  readonly item: string;
  readonly file?: string;
  readonly batch?: string;
  /** A sealed summary, which clients keep. */
  readonly summary: string;
};

/** A blob that requests for `/api/create` can name. */
export const adapter: Buffer = writeAdapter();
export const adapterDigest: string = `sha256:${createHash("sha256").update(adapter).digest("hex")}`;

const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** Audio for models that hear. */
export const speech: Buffer = makeWav({ seconds: 0.2, frequency: 440 });
const textFile = {
  filename: "note.txt",
  file_data: `data:text/plain;base64,${Buffer.from("Hi").toString("base64")}`,
};
const imageUrl = `data:image/png;base64,${png}`;
const user = { role: "user", content: "Hi" };
const parameters = { type: "object", properties: {} };

const chatTools = [{ type: "function", function: { name: "look", parameters } }];
const responseTools = [
  { type: "function", name: "look", parameters },
  { type: "custom", name: "write" },
];
const messageTools = [{ name: "look", input_schema: parameters }];

const chatChoices: Readonly<Record<string, object>> = {
  function: { type: "function", function: { name: "look" } },
  allowed_tools: {
    type: "allowed_tools",
    allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "look" } }] },
  },
  custom: { type: "custom", custom: { name: "look" } },
};
const responseChoices: Readonly<Record<string, object>> = {
  function: { type: "function", name: "look" },
  custom: { type: "custom", name: "write" },
  allowed_tools: { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "look" }] },
};

const chat = "POST /v1/chat/completions";
const responses = ["POST /v1/responses", "POST /v1/responses/input_tokens", "POST /v1/responses/compact"];
const messages = ["POST /v1/messages", "POST /v1/messages/count_tokens"];

type NamedField = Pick<FieldRow, "endpoint" | "name">;

/** Replaces samples that the types allow but that name nothing, contradict the rest, or are not what a person would send. */
export function patchFor({ endpoint, name }: NamedField, ids: StoredIds): Patch | undefined {
  const patches = {
    ...commonPatches,
    ...(endpoint === chat ? chatPatches : {}),
    ...(responses.includes(endpoint) ? responsePatches(ids) : {}),
    ...(messages.includes(endpoint) ? messagePatches : {}),
    ...(endpoint.includes("/api/") ? ollamaPatches : {}),
    ...(endpoint.endsWith("/batches") ? batchPatches(ids) : {}),
    ...(endpoint.includes("/audio/") ? audioPatches : {}),
    ...(endpoint.endsWith("/files") ? filePatches : {}),
  };
  return Object.hasOwn(patches, name) ? patches[name] : undefined;
}

function batchPatches({ file }: StoredIds): Readonly<Record<string, Patch>> {
  const expiry = { anchor: "created_at", seconds: 3600 };
  const files = file === undefined ? {} : { input_file_id: file };
  return {
    requests: {},
    "requests.custom_id": {},
    "requests.params": {},
    input_file_id: files,
    endpoint: files,
    completion_window: files,
    metadata: { ...files, metadata: { topic: "greetings" } },
    output_expires_after: { ...files, output_expires_after: expiry },
    "output_expires_after.anchor": { ...files, output_expires_after: expiry },
    "output_expires_after.seconds": { ...files, output_expires_after: expiry },
  };
}

const commonPatches: Readonly<Record<string, Patch>> = {
  // In the valid body of every endpoint.
  model: {},
  // Only a template with a suffix can insert text.
  suffix: { model: "coder", suffix: "end" },
};

const audioPatches: Readonly<Record<string, Patch>> = {
  file: {},
  response_format: { response_format: "text" },
};

/** In the valid form. */
const filePatches: Readonly<Record<string, Patch>> = { file: {}, purpose: {} };

const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };

const chatPatches: Readonly<Record<string, Patch>> = {
  "messages.refusal": { messages: [user, { role: "assistant", refusal: "No" }, user] },
  "messages.role": {},
  "messages.tool_call_id": {
    messages: [
      user,
      { role: "assistant", tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "" },
    ],
  },
  "messages.tool_calls": { messages: [user, { role: "assistant", tool_calls: [call] }, user] },
  "tools.function": { tools: chatTools },
  "tools.type": { tools: chatTools },
  "tools.custom": { tools: [{ type: "custom", custom: { name: "look" } }] },
  modalities: { modalities: ["text"] },
  stream_options: { stream: true, stream_options: { include_usage: true } },
  "response_format.type": { response_format: { type: "text" } },
  "response_format.json_schema": {
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: parameters } },
  },
  "tool_choice.type": { tools: chatTools, tool_choice: chatChoices["function"] },
  "tool_choice.function": { tools: chatTools, tool_choice: chatChoices["function"] },
  "tool_choice.allowed_tools": { tools: chatTools, tool_choice: chatChoices["allowed_tools"] },
  "tool_choice.custom": { tools: chatTools, tool_choice: chatChoices["custom"] },
};

function responsePatches({ response, conversation }: StoredIds): Readonly<Record<string, Patch>> {
  return {
    conversation: { conversation },
    "conversation.id": { conversation: { id: conversation } },
    previous_response_id: { previous_response_id: response },
    include: { include: ["reasoning.encrypted_content"] },
    "tools.name": { tools: responseTools },
    "tools.type": { tools: responseTools },
    "tools.format": { tools: [{ type: "custom", name: "write", format: { type: "text" } }] },
    "tools.tools": { tools: [{ type: "namespace", name: "files", tools: responseTools.slice(0, 1) }] },
    "tools.execution": { tools: [{ type: "tool_search", execution: "client", parameters }] },
    "tool_choice.type": { tools: responseTools, tool_choice: responseChoices["function"] },
    "tool_choice.name": { tools: responseTools, tool_choice: responseChoices["function"] },
    "tool_choice.mode": { tools: responseTools, tool_choice: responseChoices["allowed_tools"] },
    "tool_choice.tools": { tools: responseTools, tool_choice: responseChoices["allowed_tools"] },
    "tool_choice.server_label": { tool_choice: { type: "mcp", server_label: "files" } },
  };
}

const computer = {
  type: "computer_20251124",
  name: "computer",
  display_width_px: 800,
  display_height_px: 600,
};

const messagePatches: Readonly<Record<string, Patch>> = {
  "messages.role": {},
  "messages.clear_at": {
    messages: [user, { role: "system", content: "Hi", clear_at: "next_user_message" }, user],
  },
  "messages.output_config": { messages: [user, { role: "system", output_config: { effort: "low" } }, user] },
  "tools.name": { tools: messageTools },
  "tools.type": { tools: [{ ...messageTools[0], type: "custom" }] },
  "tools.display_height_px": { tools: [computer] },
  "tools.display_width_px": { tools: [computer] },
  "tools.enable_zoom": { tools: [{ ...computer, enable_zoom: true }] },
  "output_format.schema": { output_format: { type: "json_schema", schema: parameters } },
  "output_format.type": { output_format: { type: "json_schema", schema: parameters } },
  "tool_choice.name": { tools: messageTools, tool_choice: { type: "tool", name: "look" } },
};

const ollamaPatches: Readonly<Record<string, Patch>> = {
  adapters: { adapters: { "adapter.gguf": adapterDigest } },
  // An empty list of turns.
  context: { context: [2, 0x5b_5d_00] },
  destination: {},
  source: {},
  from: {},
  format: { format: "json" },
  images: { images: [png] },
  keep_alive: { keep_alive: "5m" },
  // What the weights have already.
  quantize: { quantize: "F16" },
  messages: { messages: [user] },
  "messages.role": {},
  "messages.images": { messages: [{ ...user, images: [png] }] },
  "messages.tool_calls": {
    messages: [
      user,
      { role: "assistant", tool_calls: [{ function: { name: "look", arguments: {} } }] },
      user,
    ],
  },
  "tools.function": { tools: chatTools },
  "tools.type": { tools: chatTools },
  "options.num_ctx": { options: { num_ctx: 512 } },
  template: { template: "{{ .Prompt }}" },
  tools: { tools: chatTools },
};

type Variant = { readonly type: string };

/** The body that contains the object of a variant in the field of its path. */
export function patchForVariant({ endpoint, name, sample }: FieldRow, ids: StoredIds): Patch {
  const [path = "", type = ""] = name.split(":");
  const variant: Variant = { ...Object(sample), type };
  if (endpoint === chat) return chatVariant(path, variant);
  return responses.includes(endpoint) ? responseVariant(path, variant, ids) : messageVariant(path, variant);
}

function chatVariant(path: string, sample: Variant): Patch {
  if (path === "messages.content") {
    const filled = {
      image_url: { image_url: { url: imageUrl } },
      input_audio: { input_audio: { data: speech.toString("base64"), format: "wav" } },
      file: { file: textFile },
    };
    const part = { ...sample, ...Object(filled)[sample.type] };
    const model = sample.type === "input_audio" ? { model: "hearing" } : {};
    return { ...model, messages: [{ role: "user", content: [part] }] };
  }
  if (path === "tool_choice") return { tools: chatTools, tool_choice: chatChoices[sample.type] };
  return { [path]: path === "tools" ? [sample] : sample };
}

function responseVariant(path: string, sample: Variant, { item, summary }: StoredIds): Patch {
  switch (path) {
    case "input": {
      // The last item, or it has no effect.
      if (sample.type === "compaction_trigger") return { input: [user, sample] };
      const filled = {
        item_reference: { id: item },
        function_call_output: { call_id: "call_1" },
        compaction: { encrypted_content: summary },
      };
      return { input: [{ ...sample, ...Object(filled)[sample.type] }, user] };
    }
    case "input.content": {
      const filled = { input_image: { image_url: imageUrl }, input_file: textFile };
      return { input: [{ role: "user", content: [{ ...sample, ...Object(filled)[sample.type] }] }] };
    }
    case "tool_choice":
      return { tools: responseTools, tool_choice: responseChoices[sample.type] ?? sample };
    case "tools": {
      // The vendor's own search runs on its servers, and a namespace without functions is empty.
      const filled = {
        tool_search: { execution: "client" },
        namespace: { tools: responseTools.slice(0, 1) },
      };
      return { tools: [{ ...sample, ...Object(filled)[sample.type] }] };
    }
    default:
      return { text: { format: sample } };
  }
}

const fromModel =
  /^(?:thinking|redacted_thinking|tool_use|server_tool_use|mcp_.*|compaction|fallback|.*[a-z]_tool_result)$/u;

function messageVariant(path: string, sample: Variant): Patch {
  switch (path) {
    case "messages.content": {
      const filled = {
        image: { source: { type: "base64", media_type: "image/png", data: png } },
        document: { source: { type: "text", media_type: "text/plain", data: "Hi" } },
        tool_addition: { tool: { type: "tool_reference", name: "look" } },
        tool_removal: { tool: { type: "tool_reference", name: "look" } },
      };
      const block = { ...sample, ...Object(filled)[sample.type] };
      const turns = [user, { role: "assistant", content: [block] }, user];
      return {
        tools: messageTools,
        messages: fromModel.test(sample.type) ? turns : [{ role: "user", content: [block] }],
      };
    }
    case "tools":
      // A tool of its own: a server tool alone is one that the model would have to use.
      return { tools: [...(sample.type === "custom" ? [] : messageTools), sample] };
    case "tool_choice":
      return {
        tools: messageTools,
        tool_choice: { ...sample, ...(sample.type === "tool" ? { name: "look" } : {}) },
      };
    case "output_config.format":
      return { output_config: { format: sample } };
    default:
      return { [path]: path === "system" ? [sample] : sample };
  }
}
