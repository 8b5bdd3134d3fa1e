import { maxOutputTokens, type Program, pathOf, type SettingsFile } from "./program.ts";

const file = { folder: "~/.aider", name: "hearth.model.metadata.json" } as const;

export const aider: Program = {
  name: "aider",
  title: "aider",
  executables: ["aider"],
  install: "python -m pip install aider-install && aider-install",
  configure: ({ baseUrl, model, smallModel, contextTokens, hasVision, key }) => {
    const described = contextTokens === undefined ? [] : [describeModel(model, { contextTokens, hasVision })];
    return {
      environment: { OPENAI_API_BASE: `${baseUrl}/v1`, OPENAI_API_KEY: key },
      files: described,
      args: [
        "--model",
        `openai/${model}`,
        "--weak-model",
        `openai/${smallModel}`,
        // It warns about every model that is not in its own list.
        "--no-show-model-warnings",
        ...described.flatMap((each) => ["--model-metadata-file", pathOf(each)]),
      ],
    };
  },
};

type Description = { readonly contextTokens: number; readonly hasVision: boolean };

/** Otherwise it sends no images, and does not know when the context is full. */
function describeModel(model: string, { contextTokens, hasVision }: Description): SettingsFile {
  const value = {
    max_input_tokens: contextTokens,
    max_output_tokens: maxOutputTokens(contextTokens),
    input_cost_per_token: 0,
    output_cost_per_token: 0,
    litellm_provider: "openai",
    mode: "chat",
    supports_vision: hasVision,
  };
  return { ...file, kind: "json", entries: [{ keys: [`openai/${model}`], value }] };
}
