import type { Program } from "./program.ts";

export const goose: Program = {
  name: "goose",
  title: "Goose",
  executables: ["goose"],
  install: "see https://goose-docs.ai/docs/getting-started/installation",
  configure: ({ baseUrl, model, contextTokens, key }) => {
    const { origin, pathname } = new URL(baseUrl);
    return {
      environment: {
        GOOSE_PROVIDER: "openai",
        GOOSE_MODEL: model,
        OPENAI_HOST: origin,
        OPENAI_BASE_PATH: `${pathname}/v1/chat/completions`.replace(/^\/+/u, ""),
        OPENAI_API_KEY: key,
        ...(contextTokens === undefined ? {} : { GOOSE_CONTEXT_LIMIT: String(contextTokens) }),
      },
      files: [],
      args: [],
    };
  },
};
