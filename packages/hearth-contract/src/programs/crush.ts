import { keyVariable, maxOutputTokens, type Program } from "./program.ts";

const provider = "hearth";
/** Required by Crush; what Hearth uses when nothing else is configured. */
const defaultContextTokens = 8192;

/** Crush expands variables in its settings. */
export const crush: Program = {
  name: "crush",
  title: "Crush",
  executables: ["crush"],
  install: "npm install -g @charmland/crush",
  configure: ({ baseUrl, model, smallModel, contextTokens = defaultContextTokens, hasVision, key }) => {
    const models = [...new Set([model, smallModel])].map((id) => ({
      id,
      name: id,
      context_window: contextTokens,
      default_max_tokens: maxOutputTokens(contextTokens),
      supports_attachments: hasVision,
    }));
    const value = {
      name: "Hearth",
      type: "openai-compat",
      base_url: `${baseUrl}/v1`,
      api_key: `$${keyVariable}`,
      models,
    };
    return {
      environment: { [keyVariable]: key },
      files: [
        {
          folder: "~/.config",
          folderVariable: "XDG_CONFIG_HOME",
          name: "crush/crush.json",
          kind: "json",
          entries: [
            { keys: ["providers", provider], value },
            { keys: ["models", "large"], value: { model, provider } },
            { keys: ["models", "small"], value: { model: smallModel, provider } },
          ],
        },
      ],
      args: [],
    };
  },
};
