import { choice, type Expression, rule, text } from "../grammar.ts";
import { jsonValue } from "../json-rules.ts";
import { pruneGrammar } from "../prune-grammar.ts";
import { ValueJudge } from "./value-checker.ts";
import { writeArray } from "./array-rules.ts";
import { type Branch, flattenSchemas, keyOfBranch } from "./flatten-schema.ts";
import { canonicalText } from "./json-values.ts";
import { writeLiteral } from "./literal-rules.ts";
import { writeNumber } from "./number-rules.ts";
import { writeObject } from "./object-rules.ts";
import { RuleTable } from "./rule-table.ts";
import type { SchemaDocument } from "./schema-document.ts";
import { unsupported } from "./schema-failure.ts";
import type { Located, TypeName } from "./schema-node.ts";
import { writeText } from "./text-rules.ts";

/**
 * What a schema leaves open is closed when writing: without `additionalProperties` only declared fields are written,
 * and a schema that speaks of one type means it. Looking for what two schemas share takes them at their word.
 */
export type Reading = "as-meant" | "as-written";

const mostOptionsApart = 40;

/** Writes the rules of values, each alternative once, and those below them as they are met. */
export class ValueRules {
  readonly table: RuleTable;
  readonly reading: Reading;
  readonly #document: SchemaDocument;
  readonly #judge: ValueJudge;
  readonly #names = new Map<string, string>();
  readonly #waiting: { readonly name: string; readonly branch: Branch }[] = [];
  readonly #knownApart = new Set<string>();

  constructor(document: SchemaDocument, table: RuleTable, reading: Reading) {
    this.table = table;
    this.reading = reading;
    this.#document = document;
    this.#judge = new ValueJudge(document);
  }

  /** A value for which all these schemas hold, with every rule it needs. */
  writeAll(schemas: readonly Located[]): Expression {
    const expression = this.valueOf(schemas);
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
      this.table.define(next.name, this.#writeBranch(next.branch));
    }
    return expression;
  }

  /** The same without waiting for the rules below, for use while one of them is being written. */
  valueOf(schemas: readonly Located[]): Expression {
    const branches = flattenSchemas(schemas, {
      document: this.#document,
      checkApart: (options, place) => this.#checkApart(options, place),
    });
    return choice(...branches.map((branch) => this.#branchRule(branch)));
  }

  #branchRule(branch: Branch): Expression {
    if (branch.length === 0) return jsonValue;
    const key = keyOfBranch(branch);
    const known = this.#names.get(key);
    if (known !== undefined) return rule(known);
    const name = this.table.reserve(branch[0]?.place ?? "#");
    this.#names.set(key, name);
    this.#waiting.push({ name, branch });
    return rule(name);
  }

  #writeBranch(branch: Branch): Expression {
    const lists = branch.flatMap(({ valueLists }) => valueLists);
    const [values] = lists;
    if (values === undefined) {
      return choice(...typesOf(branch, this.reading).map((type) => this.#writeType(branch, type)));
    }
    const fitting = values
      .filter((value) =>
        lists.every((list) => list.some((other) => canonicalText(other) === canonicalText(value))),
      )
      .filter((value) => branch.every((node) => this.#judge.acceptsNode(value, node)));
    const byText = new Map(fitting.map((value) => [canonicalText(value), value]));
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
        return writeNumber(branch, type === "integer", this.table);
      case "string":
        return writeText(branch, { table: this.table, keepsFormats: this.reading === "as-meant" });
      case "object":
        return writeObject(branch, this);
      case "array":
        return writeArray(branch, this);
    }
  }

  /** `oneOf` is an alternative like any other when no value fits two of its options. */
  #checkApart(options: readonly Located[], place: string): void {
    if (this.reading === "as-written" || this.#knownApart.has(place)) return;
    this.#knownApart.add(place);
    if (options.length > mostOptionsApart) throw unsupported("oneOf", place);
    for (const [index, one] of options.entries()) {
      for (const other of options.slice(index + 1)) {
        if (!areApart(one, other, this.#document)) throw unsupported("oneOf", place);
      }
    }
  }
}

function areApart(one: Located, other: Located, document: SchemaDocument): boolean {
  const shared = new ValueRules(document, new RuleTable(), "as-written");
  shared.table.define("root", shared.writeAll([one, other]));
  return pruneGrammar(shared.table.rules) === undefined;
}

const freeTypes: readonly TypeName[] = ["object", "array", "string", "number", "boolean", "null"];

/** The types all nodes allow; a number that must also be an integer is one. */
function typesOf(branch: Branch, reading: Reading): readonly TypeName[] {
  const given = branch.flatMap(({ types }) => (types === undefined ? [] : [types]));
  const implied = new Set(branch.flatMap(({ impliedTypes }) => [...impliedTypes]));
  if (given.length === 0 && implied.size > 0 && reading === "as-meant") {
    return freeTypes.filter((type) => implied.has(type));
  }
  return freeTypes.flatMap((type): TypeName[] => {
    if (given.every((types) => types.has(type))) return [type];
    const isInteger = given.every((types) => types.has("integer") || types.has("number"));
    return type === "number" && isInteger ? ["integer"] : [];
  });
}
