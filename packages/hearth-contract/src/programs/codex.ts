import { keyVariable, type Program } from "./program.ts";

/** Codex overlays `NAME.config.toml` over its settings for `--profile NAME`. */
export const codex: Program = {
  name: "codex",
  title: "Codex",
  executables: ["codex"],
  install: "npm install -g @openai/codex",
  configure: ({ baseUrl, model, contextTokens, key }) => ({
    environment: { [keyVariable]: key },
    files: [
      {
        folder: "~/.codex",
        folderVariable: "CODEX_HOME",
        name: "hearth.config.toml",
        kind: "text",
        language: "toml",
        text: [
          '# Written by "hearth launch codex"; "hearth launch codex --remove" deletes it.',
          `model = ${quote(model)}`,
          'model_provider = "hearth"',
          // Otherwise it assumes 272,000 tokens.
          ...(contextTokens === undefined ? [] : [`model_context_window = ${contextTokens}`]),
          "",
          "[model_providers.hearth]",
          'name = "Hearth"',
          `base_url = ${quote(`${baseUrl}/v1`)}`,
          'wire_api = "responses"',
          `env_key = ${quote(keyVariable)}`,
          "",
        ].join("\n"),
      },
    ],
    args: ["--profile", "hearth"],
  }),
};

/** TOML's basic strings have the escapes of JSON. */
function quote(text: string): string {
  return JSON.stringify(text);
}
