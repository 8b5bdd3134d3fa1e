import type { Program } from "./program.ts";

export const aider: Program = {
  name: "aider",
  title: "aider",
  executables: ["aider"],
  install: "python -m pip install aider-install && aider-install",
  configure: ({ baseUrl, model, smallModel, key }) => ({
    environment: { OPENAI_API_BASE: `${baseUrl}/v1`, OPENAI_API_KEY: key },
    files: [],
    // It warns about every model that is not in its own list.
    args: ["--model", `openai/${model}`, "--weak-model", `openai/${smallModel}`, "--no-show-model-warnings"],
  }),
};
