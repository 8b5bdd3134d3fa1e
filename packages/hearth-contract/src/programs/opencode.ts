import { maxOutputTokens, type Program } from "./program.ts";

/** OpenCode merges the configuration in this variable over its files. */
export const opencode: Program = {
  name: "opencode",
  title: "OpenCode",
  executables: ["opencode"],
  install: "npm install -g opencode-ai",
  configure: ({ baseUrl, model, smallModel, contextTokens, hasVision, key }) => {
    // Without a limit it never compacts.
    const limit =
      contextTokens === undefined
        ? {}
        : { limit: { context: contextTokens, output: maxOutputTokens(contextTokens) } };
    // It sends no file of a kind that is not listed here. Hearth reads the text of PDFs for every model.
    const modalities = { input: ["text", "pdf", ...(hasVision ? ["image"] : [])], output: ["text"] };
    const names = [...new Set([model, smallModel])];
    const configuration = {
      $schema: "https://opencode.ai/config.json",
      provider: {
        hearth: {
          npm: "@ai-sdk/openai-compatible",
          name: "Hearth",
          options: { baseURL: `${baseUrl}/v1`, apiKey: key },
          models: Object.fromEntries(names.map((name) => [name, { name, modalities, ...limit }])),
        },
      },
      model: `hearth/${model}`,
      small_model: `hearth/${smallModel}`,
    };
    return {
      environment: { OPENCODE_CONFIG_CONTENT: JSON.stringify(configuration) },
      files: [],
      args: [],
    };
  },
};
