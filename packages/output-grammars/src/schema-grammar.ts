import { type Expression, type Grammar, rule } from "./grammar.ts";
import { jsonRules } from "./json-rules.ts";
import { printGrammar } from "./print-grammar.ts";
import { pruneGrammar } from "./prune-grammar.ts";
import { rejectAmbiguity } from "./reject-ambiguity.ts";
import { RuleTable } from "./schemas/rule-table.ts";
import { SchemaDocument } from "./schemas/schema-document.ts";
import { type Enforcement, unsupported } from "./schemas/schema-failure.ts";
import { ValueRules } from "./schemas/value-rules.ts";

const maxGrammarLength = 1_000_000;

/** The grammar of a JSON Schema. `strict` rejects a schema that cannot be enforced exactly. */
export function grammarForSchema(schema: unknown, enforcement: Enforcement): string {
  const table = new RuleTable();
  return finishGrammar(table, writeSchema(schema, enforcement, table));
}

/** The grammar of any JSON object, or of any JSON value. */
export function grammarForJson(top: "object" | "value" = "object"): string {
  const grammar: Grammar = new Map([["root", rule(`json-${top}`)], ...jsonRules]);
  return printGrammar(pruneGrammar(grammar) ?? grammar);
}

/** Adds the rules of a schema to a table, which may already contain others. */
export function writeSchema(schema: unknown, enforcement: Enforcement, table: RuleTable): Expression {
  const document = new SchemaDocument(schema, enforcement);
  const valueRules = new ValueRules(document, table, "closed");
  return valueRules.writeAll([document.root]);
}

export function finishGrammar(table: RuleTable, root: Expression): string {
  const grammar = pruneGrammar(new Map([["root", root], ...table.rules]));
  // No document is valid, because the schema contradicts itself or is infinitely recursive.
  if (grammar === undefined) throw unsupported("schema", "#");
  const printed = printGrammar(grammar);
  if (printed.length > maxGrammarLength) throw unsupported("size", "#");
  rejectAmbiguity(grammar);
  return printed;
}
