import type { ServedEndpoint } from "./field-table.ts";

export const hosted = "only the vendor runs this tool";

const hostedTools = {
  file_search: hosted,
  computer: hosted,
  computer_use_preview: hosted,
  web_search: hosted,
  web_search_2025_08_26: hosted,
  web_search_preview: hosted,
  web_search_preview_2025_03_11: hosted,
  mcp: hosted,
  code_interpreter: hosted,
  programmatic_tool_calling: hosted,
  image_generation: hosted,
};

const noMeaning = "means nothing to another model";

/** Every item of a history is accepted: some are messages to the model, the others have no meaning to it. */
export const items: Omit<ServedEndpoint, "variants"> = {
  supported: [
    "message",
    "reasoning",
    "compaction",
    "compaction_trigger",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "item_reference",
    "additional_tools",
    "tool_search_call",
    "tool_search_output",
    "computer_call",
    "computer_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "mcp_call",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
  ],
  ignored: {
    agent_message: noMeaning,
    multi_agent_call: noMeaning,
    multi_agent_call_output: noMeaning,
    configuration_update: noMeaning,
    mcp_list_tools: noMeaning,
    mcp_approval_request: noMeaning,
    mcp_approval_response: noMeaning,
    program: noMeaning,
    program_output: noMeaning,
  },
};

export const tools: Omit<ServedEndpoint, "variants"> = {
  supported: ["function", "custom", "namespace", "tool_search"],
  ignored: {
    ...hostedTools,
    local_shell: "no schema that other models know",
    shell: "no schema that other models know",
    apply_patch: "no schema that other models know",
  },
};

/** Fields of tools that only the vendor runs. */
export const hostedToolFields: readonly string[] = [
  "vector_store_ids",
  "filters",
  "max_num_results",
  "ranking_options",
  "display_height",
  "display_width",
  "environment",
  "external_web_access",
  "search_context_size",
  "user_location",
  "server_label",
  "allowed_tools",
  "authorization",
  "connector_id",
  "headers",
  "require_approval",
  "server_description",
  "server_url",
  "tunnel_id",
  "container",
  "action",
  "background",
  "complexity",
  "frame_count",
  "frame_duration_ms",
  "input_fidelity",
  "input_image_mask",
  "model",
  "moderation",
  "output_compression",
  "output_format",
  "partial_images",
  "quality",
  "size",
  "svg",
  "search_content_types",
];
