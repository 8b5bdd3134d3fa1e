import type { CheckCase } from "./check-case.ts";

export const dialectsAreIndependent: CheckCase = {
  shared: {
    "apps/hearth/src/dialects/openai/errors.ts": "export const notFound = 404;",
    "apps/hearth/src/generation/conversation.ts": "export const turns = 1;",
  },
  broken: {
    "apps/hearth/src/dialects/anthropic/messages.ts": `
import { notFound } from "../openai/errors.ts";

export const status = notFound;
`,
  },
  valid: {
    "apps/hearth/src/dialects/anthropic/messages.ts": `
import { turns } from "../../generation/conversation.ts";

export const length = turns;
`,
    "apps/hearth/src/dialects/openai/chat-completions.ts": `
import { notFound } from "./errors.ts";

export const status = notFound;
`,
  },
  expected: ["apps/hearth/src/dialects/anthropic/messages.ts:1"],
};
