import { maxOutputTokens, type Program } from "./program.ts";

export const claude: Program = {
  name: "claude",
  title: "Claude Code",
  executables: ["claude"],
  install: "npm install -g @anthropic-ai/claude-code",
  configure: ({ baseUrl, model, smallModel, contextTokens, key }) => ({
    environment: {
      ANTHROPIC_BASE_URL: `${baseUrl}/alt`,
      ANTHROPIC_AUTH_TOKEN: key,
      // A key of Anthropic in the user's environment would be sent instead of ours.
      ANTHROPIC_API_KEY: "",
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: smallModel,
      CLAUDE_CODE_SUBAGENT_MODEL: model,
      ...(contextTokens === undefined ? {} : describeContext(contextTokens)),
      // Its text differs in every request, so that no earlier prompt could be reused.
      CLAUDE_CODE_ATTRIBUTION_HEADER: "0",
    },
    files: [],
    args: [],
  }),
};

/** Otherwise it assumes a million tokens and compacts too late, and reserves 32,000 of them for each response. */
function describeContext(contextTokens: number): Readonly<Record<string, string>> {
  return {
    CLAUDE_CODE_MAX_CONTEXT_TOKENS: String(contextTokens),
    CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(maxOutputTokens(contextTokens)),
  };
}
