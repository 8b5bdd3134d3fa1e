import { keyVariable, minAgentContextTokens, type Program, type ProgramContext } from "./program.ts";

const folder = { folder: "~/.codex", folderVariable: "CODEX_HOME" } as const;
const catalogName = "hearth.models.json";

/** Codex overlays `NAME.config.toml` over its settings for `--profile NAME`. */
export const codex: Program = {
  name: "codex",
  title: "Codex",
  executables: ["codex"],
  install: "npm install -g @openai/codex",
  configure: (context) => ({
    environment: { [keyVariable]: context.key },
    files: [
      // Before the profile that refers to it.
      { ...folder, name: catalogName, kind: "text", language: "json", text: writeCatalog(context) },
      { ...folder, name: "hearth.config.toml", kind: "text", language: "toml", text: writeProfile(context) },
    ],
    args: ["--profile", "hearth"],
  }),
};

function writeProfile({ baseUrl, model, contextTokens }: ProgramContext): string {
  return [
    '# Written by "hearth launch codex"; "hearth launch codex --remove" deletes it.',
    `model = ${quote(model)}`,
    'model_provider = "hearth"',
    // Otherwise it assumes 272,000 tokens.
    ...(contextTokens === undefined ? [] : [`model_context_window = ${contextTokens}`]),
    // Relative to this file.
    `model_catalog_json = ${quote(catalogName)}`,
    "",
    "[model_providers.hearth]",
    'name = "Hearth"',
    `base_url = ${quote(`${baseUrl}/v1`)}`,
    'wire_api = "responses"',
    `env_key = ${quote(keyVariable)}`,
    "",
  ].join("\n");
}

/**
 * What Codex knows of its vendor's models and warns about if it is missing. The values are those that it assumes for
 * unknown models, except for the context, the images and the instructions, which it has only for its own.
 */
function writeCatalog({ model, contextTokens, hasVision }: ProgramContext): string {
  const entry = {
    slug: model,
    display_name: model,
    description: "A model on a Hearth server",
    supported_reasoning_levels: [],
    shell_type: "default",
    visibility: "list",
    supported_in_api: true,
    priority: 1,
    base_instructions: instructions,
    supports_reasoning_summaries: false,
    support_verbosity: false,
    truncation_policy: { mode: "bytes", limit: 10_000 },
    supports_parallel_tool_calls: false,
    context_window: contextTokens ?? minAgentContextTokens,
    input_modalities: hasVision ? ["text", "image"] : ["text"],
    experimental_supported_tools: [],
  };
  return `${JSON.stringify({ models: [entry] }, null, 2)}\n`;
}

/** Short, because a local model reads them again whenever its cache is lost. */
const instructions = [
  "You are Codex, a coding agent in the user's terminal. You work on the files of the current folder until the user's task is done.",
  "",
  "- Read before you write: list files and read the relevant ones with shell commands. Prefer rg for searching.",
  "- Change files with the tool for patches if you have one, otherwise with shell commands. Make the smallest change that does the task, in the style of the code around it.",
  "- Follow the AGENTS.md files that apply to the files you change.",
  "- Check your work: run the tests or the program if there is a way, and correct what fails.",
  "- Do not commit, and do not delete or revert what you did not write, unless the user asks for it.",
  "- Never invent the output of a command. If a command fails, read the error and try another way.",
  "- When you are done, say in a few sentences what you changed, where, and how you checked it.",
].join("\n");

/** TOML's basic strings have the escapes of JSON. */
function quote(text: string): string {
  return JSON.stringify(text);
}
