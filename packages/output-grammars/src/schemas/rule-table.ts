import { type Expression, rule } from "../grammar.ts";
import { jsonRules } from "../json-rules.ts";
import { unsupported } from "./schema-failure.ts";

const mostRules = 8000;
/** Reading a pattern can take a quarter of a second, and others wait. */
const mostPatterns = 100;

/** The rules written so far. Names are made of the last word of a place, so that a grammar can be read. */
export class RuleTable {
  readonly rules = new Map<string, Expression>(jsonRules);
  #count = 0;
  #patterns = 0;

  /** A new name; its rule is defined later, which lets a rule name itself. */
  reserve(place: string): string {
    this.#count += 1;
    if (this.#count > mostRules) throw unsupported("size", place);
    const word = place
      .slice(place.lastIndexOf("/") + 1)
      .replaceAll(/[^A-Za-z0-9]+/gu, "-")
      .replaceAll(/^-|-$/gu, "")
      .slice(0, 24);
    return `${word === "" ? "value" : word}-${this.#count}`;
  }

  countPattern(keyword: string, place: string): void {
    this.#patterns += 1;
    if (this.#patterns > mostPatterns) throw unsupported(keyword, place);
  }

  define(name: string, expression: Expression): void {
    this.rules.set(name, expression);
  }

  add(place: string, expression: Expression): Expression {
    const name = this.reserve(place);
    this.define(name, expression);
    return rule(name);
  }
}
