import type { CheckCase } from "./check-case.ts";

export const interpretersAreIndependent: CheckCase = {
  shared: {
    "packages/engine/src/index.ts": "export type Conversation = readonly string[];",
    "packages/engine-host/src/index.ts": "export const cores = 2;",
    "packages/outbound-http/src/index.ts": 'export const fetchText = (): string => "";',
  },
  broken: {
    "packages/chat-templates/src/index.ts": `
import { fetchText } from "@hearth-and-keep/outbound-http";

export const template = fetchText();
`,
    "packages/output-grammars/src/index.ts": `
import { cores } from "@hearth-and-keep/engine-host";

export const threads = cores;
`,
  },
  valid: {
    "packages/chat-templates/src/index.ts": `
import type { Conversation } from "@hearth-and-keep/engine";

export const render = (conversation: Conversation): string => conversation.join("");
`,
  },
  expected: ["packages/chat-templates/src/index.ts:1", "packages/output-grammars/src/index.ts:1"],
};
