import { type Budget, type TemplateLimits } from "../budget.ts";
import { TemplateError } from "../template-error.ts";
import { callFunction } from "./functions.ts";
import { printValue } from "./print-value.ts";
import type { Branch, Command, Node, Operand, ParsedTemplate, Pipe } from "./syntax.ts";
import { type GoValue, isTrue, nameKind, nil, sortedEntries, textValue, wholeValue } from "./values.ts";

export type RunOptions = { readonly budget: Budget; readonly limits: TemplateLimits; readonly now: Date };

type Variable = { readonly name: string; value: GoValue };

/** What a list of nodes ended by; only a range sees more than the end. */
type Outcome = "end" | "break" | "continue";

export function runGoTemplate(template: ParsedTemplate, root: GoValue, parts: RunOptions): string {
  const run = new TemplateRun(template, parts);
  run.runNamed(template.nodes, root);
  return run.text;
}

class TemplateRun {
  readonly #template: ParsedTemplate;
  readonly #parts: RunOptions;
  readonly #pieces: string[] = [];
  #variables: Variable[] = [];
  #written = 0;

  constructor(template: ParsedTemplate, parts: RunOptions) {
    this.#template = template;
    this.#parts = parts;
  }

  get text(): string {
    return this.#pieces.join("");
  }

  /** A template sees no variables but `$`, which is what it was given. */
  runNamed(nodes: readonly Node[], root: GoValue): void {
    const outer = this.#variables;
    this.#variables = [{ name: "$", value: root }];
    this.#parts.budget.nest(() => this.#runNodes(nodes, root));
    this.#variables = outer;
  }

  #runNodes(nodes: readonly Node[], dot: GoValue): Outcome {
    for (const node of nodes) {
      this.#parts.budget.spend(1);
      const outcome = this.#runNode(node, dot);
      if (outcome !== "end") return outcome;
    }
    return "end";
  }

  #runNode(node: Node, dot: GoValue): Outcome {
    switch (node.kind) {
      case "text":
        this.#write(node.text);
        return "end";
      case "action": {
        const value = this.#runPipe(node.pipe, dot);
        if (node.pipe.variables.length === 0) this.#write(printValue(value));
        return "end";
      }
      case "if":
      case "with":
      case "range":
        return this.#parts.budget.nest(() => this.#runBranch(node, dot));
      case "template":
        this.#runCalled(node, dot);
        return "end";
      case "break":
      case "continue":
        return node.kind;
    }
  }

  #runCalled({ name, pipe }: Extract<Node, { kind: "template" }>, dot: GoValue): void {
    const nodes = this.#template.named.get(name);
    if (nodes === undefined) throw new TemplateError(`it has no template "${name}"`);
    this.runNamed(nodes, pipe === undefined ? nil : this.#runPipe(pipe, dot));
  }

  /** Variables of a branch end with it. */
  #runBranch(branch: Branch, dot: GoValue): Outcome {
    const known = this.#variables.length;
    const value = this.#runPipe(branch.pipe, dot);
    let outcome: Outcome;
    if (branch.kind === "range") outcome = this.#runRange(branch, value, dot);
    else if (isTrue(value)) outcome = this.#runNodes(branch.body, branch.kind === "with" ? value : dot);
    else outcome = this.#runNodes(branch.otherwise ?? [], dot);
    this.#variables.length = known;
    return outcome;
  }

  #runRange(branch: Branch, value: GoValue, dot: GoValue): Outcome {
    const rounds = listRounds(value);
    this.#parts.budget.spendItems(rounds.length);
    if (value.kind === "whole" && branch.pipe.variables.length > 1) {
      throw new TemplateError("it ranges over a number with two variables");
    }
    if (rounds.length === 0) return this.#runNodes(branch.otherwise ?? [], dot);
    const known = this.#variables.length;
    for (const [key, item] of rounds) {
      this.#parts.budget.spend(1);
      const [first, second] = branch.pipe.variables;
      if (first !== undefined) this.#set(first, second === undefined ? item : key);
      if (second !== undefined) this.#set(second, item);
      const outcome = this.#runNodes(branch.body, item);
      this.#variables.length = known;
      if (outcome === "break") break;
    }
    return "end";
  }

  #runPipe({ variables, isAssignment, commands }: Pipe, dot: GoValue): GoValue {
    let value: GoValue | undefined;
    for (const command of commands) value = this.#runCommand(command, dot, value);
    const result = value ?? nil;
    for (const name of variables) {
      if (isAssignment) this.#set(name, result);
      else this.#variables.push({ name, value: result });
    }
    return result;
  }

  /** What comes down the pipe is the last argument. */
  #runCommand([first, ...rest]: Command, dot: GoValue, piped: GoValue | undefined): GoValue {
    this.#parts.budget.spend(1);
    if (first.kind === "function") return this.#call(first.name, rest, { dot, piped });
    if (rest.length > 0 || piped !== undefined) {
      throw new TemplateError("it gives arguments to something that is no function");
    }
    if (first.kind === "constant" && first.value.kind === "nil") {
      throw new TemplateError("it has nil where a value belongs");
    }
    return this.#evaluate(first, dot);
  }

  #call(
    name: string,
    operands: readonly Operand[],
    { dot, piped }: { readonly dot: GoValue; readonly piped: GoValue | undefined },
  ): GoValue {
    const values: GoValue[] = [];
    for (const operand of operands) {
      const value = this.#evaluate(operand, dot);
      // The rest is not looked at once these two are decided.
      if ((name === "and" && !isTrue(value)) || (name === "or" && isTrue(value))) return value;
      values.push(value);
    }
    if (piped !== undefined) values.push(piped);
    return callFunction(name, values, this.#parts);
  }

  #evaluate(operand: Operand, dot: GoValue): GoValue {
    switch (operand.kind) {
      case "constant":
        return operand.value;
      case "function":
        return callFunction(operand.name, [], this.#parts);
      case "dot":
        return operand.path.reduce(takeField, dot);
      case "variable":
        return operand.path.reduce(takeField, this.#find(operand.name).value);
      case "pipe":
        return operand.path.reduce(
          takeField,
          this.#parts.budget.nest(() => this.#runPipe(operand.pipe, dot)),
        );
    }
  }

  #find(name: string): Variable {
    const variable = this.#variables.findLast((each) => each.name === name);
    if (variable === undefined) throw new TemplateError(`it does not declare the variable "${name}"`);
    return variable;
  }

  #set(name: string, value: GoValue): void {
    this.#find(name).value = value;
  }

  #write(text: string): void {
    const { budget, limits } = this.#parts;
    this.#written += text.length;
    if (this.#written > limits.textBytes) budget.spendText(this.#written);
    budget.spendText(text.length);
    this.#pieces.push(text);
  }
}

function takeField(value: GoValue, name: string): GoValue {
  if (value.kind === "map") return value.entries.get(name) ?? nil;
  const field = value.kind === "record" ? value.fields.get(name) : undefined;
  if (field !== undefined) return field;
  throw new TemplateError(`it asks a ${nameKind(value)} for ".${name}", which it does not have`);
}

type Rounds = readonly (readonly [key: GoValue, item: GoValue])[];

function listRounds(value: GoValue): Rounds {
  if (value.kind === "nil") return [];
  if (value.kind === "list") return value.items.map((item, index) => [wholeValue(index), item] as const);
  if (value.kind === "map") return sortedEntries(value).map(([key, item]) => [textValue(key), item] as const);
  if (value.kind === "whole") return countUp(value.value);
  throw new TemplateError(`it ranges over a ${nameKind(value)}`);
}

const mostRounds = 100_000;

function countUp(count: number): Rounds {
  if (count > mostRounds) throw new TemplateError(`it counts to more than ${mostRounds}`, true);
  return Array.from(
    { length: Math.max(0, count) },
    (_, index) => [wholeValue(index), wholeValue(index)] as const,
  );
}
