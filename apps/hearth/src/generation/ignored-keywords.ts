import { listIgnoredKeywords } from "@hearth-and-keep/output-grammars";
import type { GenerationRequest } from "./request.ts";

type ConstrainedRequest = Pick<GenerationRequest, "constraint" | "input" | "toolChoice">;

/** A log field with the keywords of lenient schemas that should constrain the output but are not enforced. */
export function describeIgnoredKeywords(request: ConstrainedRequest): Readonly<Record<string, string>> {
  const keywords = new Set(lenientSchemas(request).flatMap((schema) => listIgnoredKeywords(schema)));
  return keywords.size === 0 ? {} : { ignoredKeywords: [...keywords].toSorted().join(" ") };
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
