import type { FieldTable } from "./field-table.ts";
import { transcriptionFields } from "./openai-audio.ts";
import { batchFields } from "./openai-batches.ts";
import { hosted, hostedToolFields, items, tools } from "./openai-items.ts";

const onlyLabel = "a label for the vendor's own reports";
const oneTier = "there is only one tier";
const cacheIsAutomatic = "prompts are always cached as long as there is room";
const notModerated = "nothing here moderates content";
const noObfuscation = "events are not padded";

const settings = [
  "model",
  "frequency_penalty",
  "logit_bias",
  "logprobs",
  "max_tokens",
  "n",
  "presence_penalty",
  "seed",
  "stop",
  "stream",
  "stream_options",
  "stream_options.include_usage",
  "temperature",
  "top_p",
];

const otherChoice = "the tool itself is not offered to the model";

/** The fields that decide the prompt of a response. */
const promptFields = [
  "conversation",
  "conversation.id",
  "input",
  "instructions",
  "model",
  "parallel_tool_calls",
  "previous_response_id",
  "reasoning",
  "reasoning.effort",
  "reasoning.summary",
  "text",
  "text.format",
  "tool_choice",
  "tool_choice.mode",
  "tool_choice.name",
  "tool_choice.tools",
  "tool_choice.type",
  "tools",
  "tools.description",
  "tools.execution",
  "tools.format",
  "tools.name",
  "tools.parameters",
  "tools.strict",
  "tools.tools",
  "tools.type",
  "truncation",
];

const ignoredPromptFields = {
  "reasoning.context": "reasoning is kept as long as the client sends it",
  "reasoning.generate_summary": 'replaced by "summary"',
  "reasoning.mode": "models here have one mode",
  "text.verbosity": "models here have no such setting",
  "tools.allowed_callers": "only the model calls tools",
  "tools.async": "results are sent with the next request",
  "tools.defer_loading": "all tools are listed",
  "tools.output_schema": "results reach the model as they are",
  ...Object.fromEntries(hostedToolFields.map((name) => [`tools.${name}`, hosted])),
};

const refusedPromptFields = { "tool_choice.server_label": "MCP servers are not connected to" };

const responseVariants = {
  input: items,
  "input.content": {
    supported: ["input_text", "input_image", "input_file", "output_text", "refusal", "reasoning_text"],
    refused: { encrypted_content: "encrypted by the vendor" },
  },
  tools,
  "text.format": { supported: ["text", "json_schema", "json_object"] },
  tool_choice: {
    supported: ["allowed_tools", "function", "custom"],
    refused: {
      file_search: otherChoice,
      computer: otherChoice,
      computer_use: otherChoice,
      computer_use_preview: otherChoice,
      code_interpreter: otherChoice,
      image_generation: otherChoice,
      web_search_preview: otherChoice,
      web_search_preview_2025_03_11: otherChoice,
      mcp: otherChoice,
      apply_patch: otherChoice,
      shell: otherChoice,
      programmatic_tool_calling: otherChoice,
    },
  },
} as const;

const includeUnused = "items are always shown complete";

const noVideo = "no model here generates images, audio or video";
const noAgents = "agents run in the client";
const noFiles = "files are sent in the request";
const noOrganization = "keys and limits are settings of the server";
const noTraining = "models are not trained";

export const openaiFields: FieldTable = {
  served: {
    "POST /v1/chat/completions": {
      supported: [
        ...settings,
        "messages",
        "messages.content",
        "messages.function_call",
        "messages.name",
        "messages.refusal",
        "messages.role",
        "messages.tool_call_id",
        "messages.tool_calls",
        "max_completion_tokens",
        "modalities",
        "parallel_tool_calls",
        "reasoning_effort",
        "response_format",
        "response_format.type",
        "response_format.json_schema",
        "tool_choice",
        "tool_choice.allowed_tools",
        "tool_choice.function",
        "tool_choice.type",
        "tools",
        "tools.function",
        "tools.type",
        "top_logprobs",
      ],
      ignored: {
        "messages.audio": "there is no audio output",
        function_call: 'replaced by "tool_choice"',
        metadata: onlyLabel,
        moderation: notModerated,
        prediction: "engines here do not take predictions",
        prompt_cache_key: cacheIsAutomatic,
        prompt_cache_options: cacheIsAutomatic,
        prompt_cache_retention: cacheIsAutomatic,
        safety_identifier: onlyLabel,
        service_tier: oneTier,
        store: "only responses are stored",
        "stream_options.include_obfuscation": noObfuscation,
        user: onlyLabel,
        verbosity: "models here have no such setting",
      },
      refused: {
        audio: "there is no audio output",
        functions: 'deprecated; use "tools"',
        "tools.custom": "custom tools exist in responses only",
        "tool_choice.custom": "custom tools exist in responses only",
        web_search_options: "there is no web search",
      },
      variants: {
        "messages.content": {
          supported: ["text", "image_url", "input_audio", "file", "refusal"],
        },
        tools: { supported: ["function"], refused: { custom: "custom tools exist in responses only" } },
        tool_choice: {
          supported: ["allowed_tools", "function"],
          refused: { custom: "custom tools exist in responses only" },
        },
        response_format: { supported: ["text", "json_object", "json_schema"] },
      },
    },
    "POST /v1/completions": {
      supported: [...settings, "best_of", "echo", "prompt", "suffix"],
      ignored: { "stream_options.include_obfuscation": noObfuscation, user: onlyLabel },
    },
    "POST /v1/embeddings": {
      supported: ["dimensions", "encoding_format", "input", "model"],
      ignored: { user: onlyLabel },
    },
    "POST /v1/responses": {
      supported: [
        ...promptFields,
        "include",
        "max_output_tokens",
        "metadata",
        "store",
        "stream",
        "temperature",
        "top_logprobs",
        "top_p",
        "user",
        "betas",
      ],
      ignored: {
        ...ignoredPromptFields,
        access_programs: onlyLabel,
        context_management:
          'clients decide when to compact, with "compaction_trigger" or "/v1/responses/compact"',
        image: "images are sent to the model as they are",
        max_tool_calls: "counts the vendor's own tools, and none of them runs here",
        moderation: notModerated,
        multi_agent: noAgents,
        prompt_cache_key: cacheIsAutomatic,
        prompt_cache_options: cacheIsAutomatic,
        prompt_cache_retention: cacheIsAutomatic,
        safety_identifier: onlyLabel,
        service_tier: oneTier,
        stream_options: noObfuscation,
      },
      refused: {
        ...refusedPromptFields,
        background: "responses end with their connection",
        prompt: "no prompts are stored",
      },
      variants: responseVariants,
    },
    "POST /v1/responses/input_tokens": {
      supported: [...promptFields, "betas"],
      ignored: { ...ignoredPromptFields, personality: "models here have no such setting" },
      refused: refusedPromptFields,
      variants: { input: items, tools },
    },
    "POST /v1/responses/compact": {
      supported: ["input", "instructions", "model", "previous_response_id", "betas"],
      ignored: {
        image: "images are sent to the model as they are",
        prompt_cache_key: cacheIsAutomatic,
        prompt_cache_options: cacheIsAutomatic,
        prompt_cache_retention: cacheIsAutomatic,
        service_tier: oneTier,
      },
      variants: { input: items },
    },
    "GET /v1/responses/:id": {
      supported: ["betas"],
      ignored: {
        include: includeUnused,
        include_obfuscation: noObfuscation,
        starting_after: "events of stored responses are not kept",
      },
      refused: { stream: "events of stored responses are not kept" },
    },
    "DELETE /v1/responses/:id": { supported: ["betas"] },
    "GET /v1/responses/:id/input_items": {
      supported: ["after", "limit", "order", "betas"],
      ignored: { include: includeUnused },
    },
    "POST /v1/conversations": { supported: ["items", "metadata"] },
    "GET /v1/conversations/:id": { supported: [] },
    "POST /v1/conversations/:id": { supported: ["metadata"] },
    "DELETE /v1/conversations/:id": { supported: [] },
    "POST /v1/conversations/:id/items": { supported: ["items"], ignored: { include: includeUnused } },
    "GET /v1/conversations/:id/items": {
      supported: ["after", "limit", "order"],
      ignored: { include: includeUnused },
    },
    "GET /v1/conversations/:id/items/:id": {
      supported: ["conversation_id"],
      ignored: { include: includeUnused },
    },
    "DELETE /v1/conversations/:id/items/:id": { supported: ["conversation_id"] },
    ...batchFields,
    "POST /v1/audio/transcriptions": transcriptionFields,
    "GET /v1/models": { supported: [] },
    "GET /v1/models/:id": { supported: [] },
  },
  refused: {
    "GET /v1/chat/completions": "only responses are stored",
    "POST /v1/chat/completions/": "only responses are stored",
    "DELETE /v1/chat/completions/": "only responses are stored",
    "POST /v1/responses/:id/cancel": "there are no background responses",
    "DELETE /v1/models/": "models are deleted with the Ollama API",
    "POST /v1/moderations": notModerated,
    "POST /v1/content_provenance_checks": notModerated,
    "POST /v1/decisions": "there is no such model",
    "* /v1/agents": noAgents,
    "* /v1/assistants": noAgents,
    "* /v1/threads": noAgents,
    "* /v1/chatkit": noAgents,
    "* /v1/containers": noAgents,
    "* /v1/skills": noAgents,
    "* /v1/vaults": "secrets belong in a vault of their own",
    "* /v1/audio": "audio is transcribed, and neither generated nor translated",
    "* /v1/images": noVideo,
    "* /v1/videos": noVideo,
    "* /v1/realtime": noVideo,
    "* /v1/live": noVideo,
    "* /v1/uploads": noFiles,
    "* /v1/vector_stores": noFiles,
    "* /v1/evals": noTraining,
    "* /v1/fine_tuning": noTraining,
    "* /v1/organization/": noOrganization,
    "* /v1/projects": noOrganization,
    "* /v1/safety": notModerated,
    "* /v1/webhook_": "the server calls nobody",
  },
};
