import { keyVariable, type Program, pathOf } from "./program.ts";

const file = { folder: "~/.continue", folderVariable: "CONTINUE_GLOBAL_DIR", name: "hearth.yaml" } as const;

/** Continue's command line replaces its configuration by the file of `--config`. */
export const continueProgram: Program = {
  name: "continue",
  title: "Continue",
  executables: ["cn"],
  install: "npm install -g @continuedev/cli",
  configure: ({ baseUrl, model, contextTokens, hasVision, key }) => ({
    environment: { [keyVariable]: key },
    files: [
      {
        ...file,
        kind: "text",
        language: "yaml",
        text: [
          '# Written by "hearth launch continue"; "hearth launch continue --remove" deletes it.',
          "name: Hearth",
          "version: 1.0.0",
          "schema: v1",
          "models:",
          `  - name: ${quote(`${model} on Hearth`)}`,
          "    provider: openai",
          `    model: ${quote(model)}`,
          `    apiBase: ${quote(`${baseUrl}/v1`)}`,
          `    apiKey: \${{ secrets.${keyVariable} }}`,
          "    roles: [chat, edit, apply]",
          `    capabilities: [tool_use${hasVision ? ", image_input" : ""}]`,
          ...(contextTokens === undefined
            ? []
            : ["    defaultCompletionOptions:", `      contextLength: ${contextTokens}`]),
          "",
        ].join("\n"),
      },
    ],
    args: ["--config", pathOf(file)],
  }),
};

/** YAML's double-quoted strings have the escapes of JSON. */
function quote(text: string): string {
  return JSON.stringify(text);
}
