import { choice, type Expression, rule, text } from "../grammar.ts";
import { jsonValue } from "../json-rules.ts";
import { pruneGrammar } from "../prune-grammar.ts";
import { writeArray } from "./array-rules.ts";
import { type Branch, flattenSchemas, keyOfBranch } from "./flatten-schema.ts";
import { canonicalText } from "./json-values.ts";
import { writeLiteral } from "./literal-rules.ts";
import { writeNumber } from "./number-rules.ts";
import { writeObject } from "./object-rules.ts";
import { RuleTable } from "./rule-table.ts";
import type { SchemaDocument } from "./schema-document.ts";
import { type Enforcement, unsupported } from "./schema-failure.ts";
import type { LocatedSchema, TypeName } from "./schema-node.ts";
import { writeText } from "./text-rules.ts";
import { ValueChecker } from "./value-checker.ts";

/**
 * `closed` is used for generation: without `additionalProperties` only declared fields are allowed, and keywords of one
 * type imply that type. `literal` follows the specification and is used to check whether two schemas overlap.
 */
export type Interpretation = "closed" | "literal";

const maxOneOfOptions = 40;

/** Creates the rules of values: each alternative once, and nested ones on demand. */
export class ValueRules {
  readonly table: RuleTable;
  readonly interpretation: Interpretation;
  readonly enforcement: Enforcement;
  readonly #document: SchemaDocument;
  readonly #checker: ValueChecker;
  readonly #names = new Map<string, string>();
  readonly #pending: { readonly name: string; readonly branch: Branch }[] = [];
  readonly #knownDisjoint = new Set<string>();

  constructor(document: SchemaDocument, table: RuleTable, interpretation: Interpretation) {
    this.table = table;
    this.interpretation = interpretation;
    // What is left out makes a schema wider, so that two schemas found to be disjoint are.
    this.enforcement = interpretation === "literal" ? "lenient" : document.enforcement;
    this.#document = document;
    this.#checker = new ValueChecker(document);
  }

  /** Creates the expression of a value that satisfies all these schemas, with every rule it needs. */
  writeAll(schemas: readonly LocatedSchema[]): Expression {
    const expression = this.valueOf(schemas);
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      this.table.define(next.name, this.#writeBranch(next.branch));
    }
    return expression;
  }

  /** The same without creating the nested rules, for use while another rule is being created. */
  valueOf(schemas: readonly LocatedSchema[]): Expression {
    const branches = flattenSchemas(schemas, {
      document: this.#document,
      checkDisjoint: (options, pointer) => this.#checkDisjoint(options, pointer),
    });
    return choice(...branches.map((branch) => this.#branchRule(branch)));
  }

  #branchRule(branch: Branch): Expression {
    if (branch.length === 0) return jsonValue;
    const key = keyOfBranch(branch);
    const known = this.#names.get(key);
    if (known !== undefined) return rule(known);
    const name = this.table.reserve(branch[0]?.pointer ?? "#");
    this.#names.set(key, name);
    this.#pending.push({ name, branch });
    return rule(name);
  }

  #writeBranch(branch: Branch): Expression {
    const lists = branch.flatMap(({ valueLists }) => valueLists);
    const [values] = lists;
    if (values === undefined) {
      return choice(...typesOf(branch, this.interpretation).map((type) => this.#writeType(branch, type)));
    }
    const matching = values
      .filter((value) =>
        lists.every((list) => list.some((other) => canonicalText(other) === canonicalText(value))),
      )
      .filter((value) => branch.every((node) => this.#checker.acceptsNode(value, node)));
    const byText = new Map(matching.map((value) => [canonicalText(value), value]));
    return choice(...[...byText.values()].map((value) => writeLiteral(value)));
  }

  #writeType(branch: Branch, type: TypeName): Expression {
    switch (type) {
      case "null":
        return text("null");
      case "boolean":
        return rule("json-boolean");
      case "integer":
      case "number":
        return writeNumber(branch, type === "integer", this);
      case "string":
        return writeText(branch, {
          table: this.table,
          enforcement: this.enforcement,
          keepsFormats: this.interpretation === "closed",
        });
      case "object":
        return writeObject(branch, this);
      case "array":
        return writeArray(branch, this);
    }
  }

  /** `oneOf` is equivalent to `anyOf` if no value matches two of its options, and treated like it if lenient. */
  #checkDisjoint(options: readonly LocatedSchema[], pointer: string): void {
    if (this.enforcement === "lenient" || this.#knownDisjoint.has(pointer)) return;
    this.#knownDisjoint.add(pointer);
    if (options.length > maxOneOfOptions) throw unsupported("oneOf", pointer);
    for (const [index, one] of options.entries()) {
      for (const other of options.slice(index + 1)) {
        if (!areDisjoint(one, other, this.#document)) throw unsupported("oneOf", pointer);
      }
    }
  }
}

function areDisjoint(one: LocatedSchema, other: LocatedSchema, document: SchemaDocument): boolean {
  const shared = new ValueRules(document, new RuleTable(), "literal");
  shared.table.define("root", shared.writeAll([one, other]));
  return pruneGrammar(shared.table.rules) === undefined;
}

const allTypes: readonly TypeName[] = ["object", "array", "string", "number", "boolean", "null"];

/** The types that all nodes allow; `number` combined with `integer` is `integer`. */
function typesOf(branch: Branch, interpretation: Interpretation): readonly TypeName[] {
  const given = branch.flatMap(({ types }) => (types === undefined ? [] : [types]));
  const implied = new Set(branch.flatMap(({ impliedTypes }) => [...impliedTypes]));
  if (given.length === 0 && implied.size > 0 && interpretation === "closed") {
    return allTypes.filter((type) => implied.has(type));
  }
  return allTypes.flatMap((type): TypeName[] => {
    if (given.every((types) => types.has(type))) return [type];
    const isInteger = given.every((types) => types.has("integer") || types.has("number"));
    return type === "number" && isInteger ? ["integer"] : [];
  });
}
