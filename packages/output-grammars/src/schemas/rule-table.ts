import { NotExpressibleError } from "../automata/automaton.ts";
import { type Expression, rule } from "../grammar.ts";
import { jsonRules } from "../json-rules.ts";
import { unsupported } from "./schema-failure.ts";

const maxRules = 8000;
/** Compiling a pattern can take a quarter of a second, while other requests wait. */
const maxPatterns = 100;

/** The rules created so far. Their names contain the last segment of the JSON pointer, to keep grammars readable. */
export class RuleTable {
  readonly rules = new Map<string, Expression>(jsonRules);
  #count = 0;
  #patterns = 0;

  /** Reserves a name whose rule is defined later, which allows recursive rules. */
  reserve(pointer: string): string {
    this.#count += 1;
    if (this.#count > maxRules) throw unsupported("size", pointer);
    const segment = pointer
      .slice(pointer.lastIndexOf("/") + 1)
      .replaceAll(/[^A-Za-z0-9]+/gu, "-")
      .replaceAll(/^-|-$/gu, "")
      .slice(0, 24);
    return `${segment === "" ? "value" : segment}-${this.#count}`;
  }

  countPattern(): void {
    this.#patterns += 1;
    if (this.#patterns > maxPatterns)
      throw new NotExpressibleError(`the schema has more than ${maxPatterns} patterns`);
  }

  define(name: string, expression: Expression): void {
    this.rules.set(name, expression);
  }

  add(pointer: string, expression: Expression): Expression {
    const name = this.reserve(pointer);
    this.define(name, expression);
    return rule(name);
  }
}
