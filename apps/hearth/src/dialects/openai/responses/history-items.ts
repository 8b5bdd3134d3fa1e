import type { JsonObject } from "@hearth-and-keep/engine";
import { isJsonObject } from "@hearth-and-keep/engine";
import { parseArguments } from "../parse-arguments.ts";
import type { WireContent } from "./read-content.ts";
import type { InputItem } from "./schema.ts";

/** What an item of another tool than a function means to the model. */
export type HistoryEntry =
  | {
      readonly type: "call";
      readonly callId: string;
      readonly name: string;
      readonly arguments: JsonObject;
    }
  | { readonly type: "result"; readonly callId: string; readonly output: WireContent }
  /** Something the model did that has no call, in a line of text. */
  | { readonly type: "text"; readonly text: string };

/**
 * Agents send every earlier item again, also those that another server or an earlier version wrote. They are shown to the
 * model as function calls, as results or as text. Undefined for types that have no meaning here.
 */
export function readHistoryItem(item: InputItem): readonly HistoryEntry[] | undefined {
  return readers.get(item.type ?? "")?.(item);
}

/** Items of these types are only checked to be JSON, so every field may have any type. */
type Fields = Readonly<Record<string, unknown>>;
type Reader = (item: Fields) => readonly HistoryEntry[];

const readers: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["shell_call", (item) => [call(item, "shell", fieldsOf(item["action"]))]],
  ["shell_call_output", (item) => [result(item, listOf(item["output"]).map(describeCommand).join("\n"))]],
  ["local_shell_call", (item) => [call(item, "local_shell", fieldsOf(item["action"]))]],
  ["local_shell_call_output", (item) => [result(item, textOf(item["output"]))]],
  ["apply_patch_call", (item) => [call(item, "apply_patch", fieldsOf(item["operation"]))]],
  [
    "apply_patch_call_output",
    (item) => [result(item, joinLines([textOf(item["status"]), textOf(item["output"])]))],
  ],
  ["tool_search_call", (item) => [call(item, "tool_search", fieldsOf(item["arguments"]))]],
  ["computer_call", (item) => [call(item, "computer", fieldsOf(item["action"]))]],
  ["computer_call_output", (item) => [result(item, readScreenshot(item))]],
  ["mcp_call", readMcpCall],
  ["web_search_call", (item) => [text(`[Web search: ${describeSearch(fieldsOf(item["action"]))}]`)]],
  ["file_search_call", readFileSearch],
  ["code_interpreter_call", readCode],
  [
    "image_generation_call",
    (item) => [text(joinLines(["[Generated an image]", textOf(item["revised_prompt"])]))],
  ],
]);

function call(item: Fields, name: string, fields: Fields): HistoryEntry {
  // Part of the parsed JSON body.
  return { type: "call", callId: callIdOf(item), name, arguments: fields as JsonObject };
}

function result(item: Fields, output: WireContent): HistoryEntry {
  return { type: "result", callId: callIdOf(item), output };
}

function text(content: string): HistoryEntry {
  return { type: "text", text: content };
}

/** The output of a local shell has the id of its call in `id`. */
function callIdOf(item: Fields): string {
  return textOf(item["call_id"]) || textOf(item["id"]);
}

function describeCommand(output: unknown): string {
  const { stdout, stderr, outcome } = fieldsOf(output);
  const { type, exit_code: exitCode } = fieldsOf(outcome);
  const end =
    type === "timeout" ? "[timed out]" : `[exit code ${typeof exitCode === "number" ? exitCode : "unknown"}]`;
  return joinLines([textOf(stdout), textOf(stderr), end]);
}

function readScreenshot({ output }: Fields): WireContent {
  const url = textOf(fieldsOf(output)["image_url"]);
  return url === "" ? "" : [{ type: "input_image", image_url: url }];
}

function readMcpCall(item: Fields): readonly HistoryEntry[] {
  const { error, output } = item;
  const failure = typeof error === "string" ? error : textOf(fieldsOf(error)["message"]);
  const written = parseArguments(textOf(item["arguments"]) || "{}");
  return [
    call(item, textOf(item["name"]), isJsonObject(written) ? written : {}),
    result(item, textOf(output) || failure),
  ];
}

function describeSearch({ query, queries, url, pattern }: Fields): string {
  const found = [query, ...listOf(queries), url, pattern].map(textOf).filter((each) => each !== "");
  return [...new Set(found)].join(", ");
}

function readFileSearch({ queries, results }: Fields): readonly HistoryEntry[] {
  const found = listOf(results).map((each) => {
    const { filename, text: content } = fieldsOf(each);
    return `${textOf(filename)}: ${textOf(content)}`;
  });
  return [text(joinLines([`[File search: ${listOf(queries).map(textOf).join(", ")}]`, ...found]))];
}

function readCode({ code, outputs }: Fields): readonly HistoryEntry[] {
  const logs = listOf(outputs).map((each) => textOf(fieldsOf(each)["logs"]));
  return [text(joinLines(["[Ran this code]", textOf(code), "[Its output]", ...logs]))];
}

function joinLines(lines: readonly string[]): string {
  return lines.filter((line) => line !== "").join("\n");
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function fieldsOf(value: unknown): Fields {
  return isJsonObject(value) ? value : {};
}
