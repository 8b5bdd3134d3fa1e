import type { Program } from "./program.ts";

/** Required by the file's schema; only shown, so a fixed time keeps the entry the same on every launch. */
const updatedAt = "2026-01-01T00:00:00.000Z";

/** For this provider, Cline reads a key that is not in its settings from OPENAI_API_KEY. */
export const cline: Program = {
  name: "cline",
  title: "Cline",
  executables: ["cline"],
  install: "npm install -g cline",
  configure: ({ baseUrl, model, contextTokens, key }) => {
    const context = contextTokens === undefined ? {} : { contextWindow: contextTokens };
    const settings = { provider: "openai-compatible", model, baseUrl: `${baseUrl}/v1`, ...context };
    return {
      environment: { OPENAI_API_KEY: key },
      files: [
        {
          folder: "~/.cline/data",
          folderVariable: "CLINE_DATA_DIR",
          name: "settings/providers.json",
          kind: "json",
          entries: [
            { keys: ["version"], value: 1, isDefault: true },
            {
              keys: ["providers", "openai-compatible"],
              value: { settings, updatedAt, tokenSource: "manual" },
            },
          ],
        },
      ],
      args: ["--provider", "openai-compatible", "--model", model],
    };
  },
};
