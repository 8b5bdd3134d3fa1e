import { keyVariable, type Program } from "./program.ts";

const provider = "Hearth";
/** Required by Zed; what Hearth uses when nothing else is configured. */
const defaultContextTokens = 8192;

/** Zed reads the key of a provider from `PROVIDER_API_KEY`, and never from its settings. */
export const zed: Program = {
  name: "zed",
  title: "Zed",
  executables: ["zed", "zeditor"],
  install: "see https://zed.dev/download",
  configure: ({ baseUrl, model, contextTokens = defaultContextTokens, hasVision, key }) => {
    const capabilities = {
      tools: true,
      images: hasVision,
      parallel_tool_calls: false,
      prompt_cache_key: false,
    };
    return {
      environment: { [keyVariable]: key },
      files: [
        {
          folder: "~/.config",
          folderVariable: "XDG_CONFIG_HOME",
          name: "zed/settings.json",
          kind: "json",
          entries: [
            {
              keys: ["language_models", "openai_compatible", provider],
              value: {
                api_url: `${baseUrl}/v1`,
                available_models: [
                  { name: model, display_name: model, max_tokens: contextTokens, capabilities },
                ],
              },
            },
            { keys: ["agent", "default_model"], value: { provider, model } },
          ],
        },
      ],
      args: [],
    };
  },
};
