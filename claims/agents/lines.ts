/**
 * @module
 * The claims about coding agents: their requests work at the first try, and every context that is reported is served.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { provenByTests } from "../prove-by-tests.ts";

const topic = "agents";
const everything: readonly Need[] = ["debian packages", "python", "test models"];

type Line = Pick<ShowLine, "line" | "title"> & { readonly paths: readonly string[] };

const responses = "apps/hearth/src/dialects/openai/responses";
const messages = "apps/hearth/src/dialects/anthropic/messages";

const lines: readonly Line[] = [
  {
    line: 1,
    title: "Coding agents as released end every flow as their users expect, on a default server",
    paths: [
      "conformance/agents/claude-code.model.test.ts",
      "conformance/agents/codex.model.test.ts",
      "conformance/agents/opencode.model.test.ts",
      "conformance/agents/sdk-ai.model.test.ts",
      "conformance/agents/sdk-langchain.model.test.ts",
      "conformance/agents/sdk-openai-agents.model.test.ts",
      "conformance/agents/aider.model.test.ts",
    ],
  },
  {
    line: 2,
    title:
      "What broke popular clients is accepted: references, images, PDFs, tool search, schemas, unfinished calls",
    paths: [
      "claims/agents/findings.test.ts",
      "conformance/context-window.model.test.ts",
      `${responses}/item-references.integration.test.ts`,
      `${responses}/history-items.integration.test.ts`,
      `${responses}/custom-tools.integration.test.ts`,
      `${responses}/agents.integration.test.ts`,
      `${responses}/pdf-files.integration.test.ts`,
      `${responses}/compact.integration.test.ts`,
      `${responses}/compact.model.test.ts`,
      "conformance/agents/failed-streams.model.test.ts",
      "apps/hearth/src/images/tool-images.integration.test.ts",
      "apps/hearth/src/images/webp-images.integration.test.ts",
      `${messages}/messages.model.test.ts`,
      `${messages}/documents.model.test.ts`,
      `${messages}/server-tools.model.test.ts`,
      `${messages}/tool-search.model.test.ts`,
      `${messages}/client-tools.model.test.ts`,
      `${messages}/agent-session.integration.test.ts`,
      "apps/hearth/src/generation/tool-calls/model-templates.integration.test.ts",
      "conformance/agents/claude-code.model.test.ts",
      "conformance/small-symptoms.model.test.ts",
      "apps/hearth/src/dialects/openai/response-fields.test.ts",
      "packages/upstream-engine/src/remote/map-error.test.ts",
      "apps/hearth-web/src/state/models.test.ts",
    ],
  },
  {
    line: 3,
    title:
      "Every field that the official clients know is supported, named as ignored, or refused with a reason",
    paths: [
      "conformance/fields/fields.integration.test.ts",
      "apps/hearth/src/ignored-fields.test.ts",
      "apps/hearth/src/ignored-fields.integration.test.ts",
      "apps/hearth/src/ignored-header.test.ts",
      "apps/hearth/src/generation/limit-thinking.test.ts",
      "apps/hearth/src/generation/limit-thinking.model.test.ts",
      `${messages}/thinking-budget.model.test.ts`,
    ],
  },
  {
    line: 4,
    title: "Every API serves the context that it reports, as much as model and memory allow",
    paths: [
      "apps/hearth/src/scheduling/context-window.test.ts",
      "apps/hearth/src/generation/growing-lease.test.ts",
      "conformance/context-window.model.test.ts",
    ],
  },
  {
    line: 5,
    title:
      "Stored responses, conversations, files and batches are kept within their limits, responses across kills, and no other key can read them",
    paths: [
      `${responses}/response-store.test.ts`,
      `${responses}/response-files.test.ts`,
      `${responses}/killed-server.model.test.ts`,
      `${responses}/stored-on-disk.integration.test.ts`,
      `${responses}/stored-responses.test.ts`,
      `${responses}/stored-responses.integration.test.ts`,
      `${responses}/conversations.integration.test.ts`,
      `${responses}/retrieve-response.integration.test.ts`,
      "apps/hearth/src/dialects/anthropic/batches/batches.integration.test.ts",
      "apps/hearth/src/dialects/openai/batches/batches.integration.test.ts",
      "apps/hearth/src/dialects/openai/files/files.integration.test.ts",
      "apps/hearth/src/scheduling/background-requests.test.ts",
      "conformance/batches.model.test.ts",
    ],
  },
  {
    line: 6,
    title: "A damaged tool call has the same outcome in every API, and its arguments are always JSON",
    paths: [
      "apps/hearth/src/test/damaged-calls.model.test.ts",
      "apps/hearth/src/generation/retry-invalid-calls.test.ts",
      "apps/hearth/src/generation/retry-invalid-calls.model.test.ts",
      "apps/hearth/src/generation/respond-in-two-passes.test.ts",
    ],
  },
  {
    line: 7,
    title: "Schemas as zod and Pydantic send them are accepted, and their grammars enforce what they can",
    paths: ["packages/output-grammars/src/library-schemas.test.ts"],
  },
  {
    line: 8,
    title: "The second turn of Claude Code and Codex starts from the prompt cache although its tools changed",
    paths: ["bench/agent-second-turn.bench.test.ts"],
  },
  {
    line: 9,
    title: "Hostile PDFs and images are contained in a sandbox, and good ones are read",
    paths: [
      "packages/document-text/src/pdf-reader.integration.test.ts",
      "packages/document-text/src/hostile-pdfs.integration.test.ts",
      "packages/document-text/src/sandbox.integration.test.ts",
      "packages/document-text/src/webp-converter.integration.test.ts",
    ],
  },
  {
    line: 10,
    title: "hearth launch starts agents with their settings, and --remove undoes what it wrote",
    paths: [
      "apps/hearth/src/commands/launch.integration.test.ts",
      "packages/hearth-contract/src/programs/programs.test.ts",
      "conformance/agents/claude-code.model.test.ts",
      "conformance/agents/codex.model.test.ts",
    ],
  },
];

export const agentsLines: readonly ShowLine[] = lines.map(({ paths, ...line }) => ({
  topic,
  needs: everything,
  ...line,
  ...provenByTests(`${topic} ${line.line}`, paths),
}));
