import { type Budget, type TemplateLimits } from "../budget.ts";
import { TemplateError } from "../template-error.ts";
import { callFunction } from "./functions.ts";
import { printValue } from "./print-value.ts";
import type { Branch, Command, Node, Operand, ParsedTemplate, Pipe } from "./syntax.ts";
import {
  describeKind,
  type GoValue,
  integerValue,
  isTrue,
  nil,
  sortedEntries,
  stringValue,
} from "./values.ts";

export type RunOptions = { readonly budget: Budget; readonly limits: TemplateLimits; readonly now: Date };

type Variable = { readonly name: string; value: GoValue };

/** How a list of nodes ended; only `range` handles `break` and `continue`. */
type Outcome = "end" | "break" | "continue";

export function runGoTemplate(template: ParsedTemplate, root: GoValue, options: RunOptions): string {
  const run = new TemplateRun(template, options);
  run.runNamed(template.nodes, root);
  return run.text;
}

class TemplateRun {
  readonly #template: ParsedTemplate;
  readonly #options: RunOptions;
  readonly #chunks: string[] = [];
  #variables: Variable[] = [];
  #written = 0;

  constructor(template: ParsedTemplate, options: RunOptions) {
    this.#template = template;
    this.#options = options;
  }

  get text(): string {
    return this.#chunks.join("");
  }

  /** A template sees no variables except `$`, its argument. */
  runNamed(nodes: readonly Node[], root: GoValue): void {
    const outer = this.#variables;
    this.#variables = [{ name: "$", value: root }];
    this.#options.budget.nest(() => this.#runNodes(nodes, root));
    this.#variables = outer;
  }

  #runNodes(nodes: readonly Node[], dot: GoValue): Outcome {
    for (const node of nodes) {
      this.#options.budget.spend(1);
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
        return this.#options.budget.nest(() => this.#runBranch(node, dot));
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
    if (nodes === undefined) throw new TemplateError(`template "${name}" is not defined`);
    this.runNamed(nodes, pipe === undefined ? nil : this.#runPipe(pipe, dot));
  }

  /** Variables declared in a branch are scoped to it. */
  #runBranch(branch: Branch, dot: GoValue): Outcome {
    const outerVariables = this.#variables.length;
    const value = this.#runPipe(branch.pipe, dot);
    let outcome: Outcome;
    if (branch.kind === "range") outcome = this.#runRange(branch, value, dot);
    else if (isTrue(value)) outcome = this.#runNodes(branch.body, branch.kind === "with" ? value : dot);
    else outcome = this.#runNodes(branch.otherwise ?? [], dot);
    this.#variables.length = outerVariables;
    return outcome;
  }

  #runRange(branch: Branch, value: GoValue, dot: GoValue): Outcome {
    const iterations = listIterations(value);
    this.#options.budget.spendItems(iterations.length);
    if (value.kind === "integer" && branch.pipe.variables.length > 1) {
      throw new TemplateError("range over an integer allows only one variable");
    }
    if (iterations.length === 0) return this.#runNodes(branch.otherwise ?? [], dot);
    const outerVariables = this.#variables.length;
    for (const [key, item] of iterations) {
      this.#options.budget.spend(1);
      const [first, second] = branch.pipe.variables;
      if (first !== undefined) this.#set(first, second === undefined ? item : key);
      if (second !== undefined) this.#set(second, item);
      const outcome = this.#runNodes(branch.body, item);
      this.#variables.length = outerVariables;
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

  /** The piped value is the last argument. */
  #runCommand([first, ...rest]: Command, dot: GoValue, piped: GoValue | undefined): GoValue {
    this.#options.budget.spend(1);
    if (first.kind === "function") return this.#call(first.name, rest, { dot, piped });
    if (rest.length > 0 || piped !== undefined) {
      throw new TemplateError("cannot pass arguments to a value that is not a function");
    }
    if (first.kind === "constant" && first.value.kind === "nil") {
      throw new TemplateError("nil is not a command");
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
      // Short-circuit evaluation.
      if ((name === "and" && !isTrue(value)) || (name === "or" && isTrue(value))) return value;
      values.push(value);
    }
    if (piped !== undefined) values.push(piped);
    return callFunction(name, values, this.#options);
  }

  #evaluate(operand: Operand, dot: GoValue): GoValue {
    switch (operand.kind) {
      case "constant":
        return operand.value;
      case "function":
        return callFunction(operand.name, [], this.#options);
      case "dot":
        return operand.path.reduce(getField, dot);
      case "variable":
        return operand.path.reduce(getField, this.#find(operand.name).value);
      case "pipe":
        return operand.path.reduce(
          getField,
          this.#options.budget.nest(() => this.#runPipe(operand.pipe, dot)),
        );
    }
  }

  #find(name: string): Variable {
    const variable = this.#variables.findLast((each) => each.name === name);
    if (variable === undefined) throw new TemplateError(`undefined variable "${name}"`);
    return variable;
  }

  #set(name: string, value: GoValue): void {
    this.#find(name).value = value;
  }

  #write(text: string): void {
    const { budget, limits } = this.#options;
    this.#written += text.length;
    if (this.#written > limits.textBytes) budget.spendText(this.#written);
    budget.spendText(text.length);
    this.#chunks.push(text);
  }
}

function getField(value: GoValue, name: string): GoValue {
  if (value.kind === "map") return value.entries.get(name) ?? nil;
  const field = value.kind === "record" ? value.fields.get(name) : undefined;
  if (field !== undefined) return field;
  throw new TemplateError(`${describeKind(value)} has no field ".${name}"`);
}

type Iterations = readonly (readonly [key: GoValue, item: GoValue])[];

function listIterations(value: GoValue): Iterations {
  if (value.kind === "nil") return [];
  if (value.kind === "list") return value.items.map((item, index) => [integerValue(index), item] as const);
  if (value.kind === "map")
    return sortedEntries(value).map(([key, item]) => [stringValue(key), item] as const);
  if (value.kind === "integer") return countUp(value.value);
  throw new TemplateError(`cannot range over "${describeKind(value)}"`);
}

const maxIterations = 100_000;

function countUp(count: number): Iterations {
  if (count > maxIterations)
    throw new TemplateError(`it exceeds the limit of ${maxIterations} iterations`, true);
  return Array.from(
    { length: Math.max(0, count) },
    (_, index) => [integerValue(index), integerValue(index)] as const,
  );
}
