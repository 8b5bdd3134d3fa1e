import type { EngineFailure, Tool } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { choice, type Expression, repeat, sequence, text } from "./grammar.ts";
import { member, space } from "./json-rules.ts";
import { finishGrammar, writeSchema } from "./schema-grammar.ts";
import { RuleTable } from "./schemas/rule-table.ts";
import { unsupported } from "./schemas/schema-failure.ts";

/** The tool-call format of a model family. All strings are emitted verbatim. */
export type ToolCallShape = {
  /** Around all calls, such as `[TOOL_CALLS][` and `]`. */
  readonly before: string;
  readonly after: string;
  /** Around each call, such as `<tool_call>\n` and `\n</tool_call>`. */
  readonly callBefore: string;
  readonly callAfter: string;
  /** Between two calls. */
  readonly separator: string;
  /** 1 forces a single call; more allows parallel ones. */
  readonly maxCalls: number;
  readonly layout:
    | { readonly type: "json"; readonly nameKey: string; readonly argumentsKey: string }
    /** The name as plain text, then the arguments: `<function=` name `>` arguments. */
    | { readonly type: "name-then-arguments"; readonly between: string };
};

/**
 * The grammar of one or more calls of the given tools. Arguments are valid for the schema of a strict tool; in the schema
 * of any other, keywords without an exact grammar have no effect.
 */
export function grammarForToolCalls(tools: readonly Tool[], shape: ToolCallShape): string {
  if (tools.length === 0) throw unsupported("tools", "#");
  const table = new RuleTable();
  const calls = tools.map((tool) => writeCall(tool, shape, table));
  const call = table.add("call", sequence(text(shape.callBefore), choice(...calls), text(shape.callAfter)));
  const more = repeat(sequence(text(shape.separator), call), 0, shape.maxCalls - 1);
  return finishGrammar(table, sequence(text(shape.before), call, more, text(shape.after)));
}

function writeCall(tool: Tool, { layout }: ToolCallShape, table: RuleTable): Expression {
  const schema = tool.parameters ?? { type: "object", additionalProperties: false };
  const enforcement = tool.isStrict === true ? "strict" : "lenient";
  const argumentsExpression = inTool(tool, () => writeSchema(schema, enforcement, table));
  if (layout.type === "name-then-arguments")
    return sequence(text(tool.name + layout.between), argumentsExpression);
  return sequence(
    text("{"),
    space,
    member(text(JSON.stringify(layout.nameKey)), text(JSON.stringify(tool.name))),
    text(","),
    space,
    member(text(JSON.stringify(layout.argumentsKey)), argumentsExpression),
    space,
    text("}"),
  );
}

/** Prefixes the location with the tool's name, because every schema has its own "#". */
function inTool<Result>({ name }: Tool, write: () => Result): Result {
  try {
    return write();
  } catch (error) {
    if (!(error instanceof FailureError)) throw error;
    // Every failure thrown here is a failure of the engine port.
    const failure = error.failure as EngineFailure;
    if (failure.kind !== "schema-unsupported") throw error;
    throw unsupported(failure.keyword, `${name}${failure.location}`, error);
  }
}
