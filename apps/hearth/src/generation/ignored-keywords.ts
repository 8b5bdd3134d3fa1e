import { listIgnoredKeywords } from "@hearth-and-keep/output-grammars";
import { ignoredHeader } from "../ignored-header.ts";
import type { GenerationRequest } from "./request.ts";

type ConstrainedRequest = Pick<GenerationRequest, "constraint" | "input" | "toolChoice">;

/** What names the keywords to the client and in the log. */
type Report = {
  readonly addLogFields: (fields: { readonly ignoredKeywords: string }) => void;
  readonly addResponseHeaders: (headers: Readonly<Record<string, string>>) => void;
};

/** Reports the keywords of lenient schemas that should constrain the output but are not enforced. */
export function reportIgnoredKeywords(request: ConstrainedRequest, report: Report): void {
  const keywords = ignoredKeywordsOf(request);
  if (keywords.length === 0) return;
  report.addLogFields({ ignoredKeywords: keywords.join(" ") });
  report.addResponseHeaders(ignoredHeader({ keywords }));
}

export function ignoredKeywordsOf(request: ConstrainedRequest): readonly string[] {
  return [...new Set(lenientSchemas(request).flatMap((schema) => listIgnoredKeywords(schema)))].toSorted();
}

/** Only a required call is constrained. */
function lenientSchemas({ constraint, input, toolChoice }: ConstrainedRequest): readonly unknown[] {
  const tools = input.type === "conversation" ? (input.conversation.tools ?? []) : [];
  const called = tools.filter(
    ({ name }) => toolChoice.toolName === undefined || toolChoice.toolName === name,
  );
  const parameters = called.filter(({ isStrict }) => isStrict !== true).map((tool) => tool.parameters);
  const isLenient = constraint?.type === "json-schema" && constraint.isStrict !== true;
  return [...(toolChoice.type === "required" ? parameters : []), ...(isLenient ? [constraint.schema] : [])];
}
