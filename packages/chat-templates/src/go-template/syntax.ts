import type { Budget } from "../budget.ts";
import { TemplateError } from "../template-error.ts";
import { isFunction } from "./functions.ts";
import { readConstant } from "./read-constant.ts";
import { readTokens, type Token } from "./tokens.ts";
import type { GoValue } from "./values.ts";
import { booleanValue, nil } from "./values.ts";

export type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "action"; readonly pipe: Pipe }
  | Branch
  | { readonly kind: "template"; readonly name: string; readonly pipe: Pipe | undefined }
  | { readonly kind: "break" | "continue" };

export type Branch = {
  readonly kind: "if" | "with" | "range";
  readonly pipe: Pipe;
  readonly body: readonly Node[];
  readonly otherwise: readonly Node[] | undefined;
};

/** `$a, $b := first | second`. */
export type Pipe = {
  readonly variables: readonly string[];
  readonly isAssignment: boolean;
  readonly commands: readonly Command[];
};

/** A function and its arguments, or one value. */
export type Command = readonly [Operand, ...Operand[]];

export type Operand =
  | { readonly kind: "constant"; readonly value: GoValue }
  | { readonly kind: "function"; readonly name: string }
  | { readonly kind: "dot"; readonly path: readonly string[] }
  | { readonly kind: "variable"; readonly name: string; readonly path: readonly string[] }
  | { readonly kind: "pipe"; readonly pipe: Pipe; readonly path: readonly string[] };

export type ParsedTemplate = {
  readonly nodes: readonly Node[];
  /** Defined by `define` and `block`. */
  readonly named: ReadonlyMap<string, readonly Node[]>;
};

export function parseGoTemplate(source: string, budget: Budget): ParsedTemplate {
  const parser = new Parser(readTokens(source), budget);
  return { nodes: parser.readAll(), named: parser.named };
}

type Ending = "end" | "else" | "source";

class Parser {
  readonly named = new Map<string, readonly Node[]>();
  readonly #tokens: readonly Token[];
  readonly #budget: Budget;
  #position = 0;
  #variables = ["$"];
  #ranges = 0;

  constructor(tokens: readonly Token[], budget: Budget) {
    this.#tokens = tokens;
    this.#budget = budget;
  }

  readAll(): readonly Node[] {
    const { nodes, ending } = this.#readNodes();
    if (ending !== "source") throw new TemplateError(`unexpected "${ending}"`);
    return nodes;
  }

  #readNodes(): { readonly nodes: readonly Node[]; readonly ending: Ending } {
    const nodes: Node[] = [];
    for (;;) {
      const token = this.#next();
      if (token === undefined) return { nodes, ending: "source" };
      if (token.kind === "text") {
        nodes.push({ kind: "text", text: token.text });
        continue;
      }
      const keyword = this.#peekIdentifier();
      if (keyword === "end" || keyword === "else") {
        this.#position += 1;
        // The caller reads what follows "else".
        if (keyword === "end") this.#close();
        return { nodes, ending: keyword };
      }
      const node = this.#budget.nest(() => this.#readAction(keyword));
      if (node !== undefined) nodes.push(node);
    }
  }

  #readAction(keyword: string | undefined): Node | undefined {
    if (keyword === "if" || keyword === "with" || keyword === "range") {
      this.#position += 1;
      return this.#readBranch(keyword);
    }
    if (keyword === "define" || keyword === "block" || keyword === "template") {
      this.#position += 1;
      return this.#readNamed(keyword);
    }
    if (keyword === "break" || keyword === "continue") {
      this.#position += 1;
      if (this.#ranges === 0) throw new TemplateError(`"${keyword}" outside of range`);
      this.#close();
      return { kind: keyword };
    }
    const pipe = this.#readPipe();
    this.#close();
    return { kind: "action", pipe };
  }

  #readBranch(kind: Branch["kind"]): Branch {
    const outerVariables = this.#variables.length;
    const pipe = this.#readPipe(kind === "range" ? 2 : 1);
    this.#close();
    if (kind === "range") this.#ranges += 1;
    const { nodes: body, ending } = this.#readNodes();
    if (kind === "range") this.#ranges -= 1;
    const otherwise = ending === "else" ? this.#readElse(kind) : undefined;
    if (ending === "source") throw new TemplateError(`"${kind}" without "end"`);
    this.#variables.length = outerVariables;
    return { kind, pipe, body, otherwise };
  }

  #readElse(kind: Branch["kind"]): readonly Node[] {
    const keyword = this.#peekIdentifier();
    if (keyword === kind && (keyword === "if" || keyword === "with")) {
      this.#position += 1;
      return [this.#budget.nest(() => this.#readBranch(keyword))];
    }
    this.#close();
    const { nodes, ending } = this.#readNodes();
    if (ending !== "end") throw new TemplateError(`"else" without "end"`);
    return nodes;
  }

  #readNamed(kind: "define" | "block" | "template"): Node | undefined {
    const nameToken = this.#next();
    const constant = nameToken === undefined ? undefined : readConstant(nameToken);
    if (constant?.kind !== "string") throw new TemplateError(`"${kind}" without a name`);
    const name = constant.text;
    const pipe = kind === "define" || this.#peek()?.kind === "close" ? undefined : this.#readPipe();
    this.#close();
    if (kind === "template") return { kind: "template", name, pipe };
    const outer = { variables: this.#variables, ranges: this.#ranges };
    this.#variables = ["$"];
    this.#ranges = 0;
    const { nodes, ending } = this.#readNodes();
    if (ending !== "end") throw new TemplateError(`"${kind}" without "end"`);
    this.#variables = outer.variables;
    this.#ranges = outer.ranges;
    if (kind === "define" || !this.named.has(name)) this.named.set(name, nodes);
    return kind === "block" ? { kind: "template", name, pipe } : undefined;
  }

  #readPipe(maxVariables = 1): Pipe {
    const { variables, isAssignment } = this.#readVariables(maxVariables);
    const commands: Command[] = [];
    do {
      commands.push(this.#readCommand());
      // Go allows a trailing "|".
    } while (this.#consume("|") && this.#peek()?.kind !== "close");
    // A variable is visible after its declaration, not inside it.
    if (!isAssignment) this.#variables.push(...variables);
    return { variables, isAssignment, commands };
  }

  #readVariables(maxCount: number): Pick<Pipe, "variables" | "isAssignment"> {
    const start = this.#position;
    const variables: string[] = [];
    do {
      const token = this.#next();
      if (token?.kind !== "variable" || variables.length === maxCount) break;
      variables.push(token.text);
      if (this.#consume(":=")) return { variables, isAssignment: false };
      if (this.#consume("=")) {
        for (const name of variables) this.#requireVariable(name);
        return { variables, isAssignment: true };
      }
    } while (this.#consume(","));
    this.#position = start;
    return { variables: [], isAssignment: false };
  }

  #readCommand(): Command {
    const first = this.#readOperand();
    if (first === undefined) throw new TemplateError("empty action or pipeline");
    const rest: Operand[] = [];
    for (;;) {
      const operand = this.#readOperand();
      if (operand === undefined) return [first, ...rest];
      rest.push(operand);
    }
  }

  /** Undefined at the end of the command. */
  #readOperand(): Operand | undefined {
    const token = this.#peek();
    if (token === undefined || token.kind === "close" || ["|", ")"].includes(punctuationOf(token)))
      return undefined;
    this.#position += 1;
    const constant = readConstant(token);
    if (constant !== undefined) return { kind: "constant", value: constant };
    if (token.kind === "identifier") return readIdentifier(token.text);
    if (token.kind === "field") return { kind: "dot", path: [token.text.slice(1), ...this.#readPath()] };
    if (token.kind === "variable") {
      this.#requireVariable(token.text);
      return { kind: "variable", name: token.text, path: this.#readPath() };
    }
    if (token.text === ".") return { kind: "dot", path: [] };
    if (token.text === "(") return this.#budget.nest(() => this.#readParentheses());
    throw new TemplateError(`unexpected ${JSON.stringify(token.text)}, expected a value`);
  }

  #readParentheses(): Operand {
    const pipe = this.#readPipe();
    if (!this.#consume(")")) throw new TemplateError("unclosed parenthesis");
    return { kind: "pipe", pipe, path: this.#readPath() };
  }

  #readPath(): readonly string[] {
    const path: string[] = [];
    for (;;) {
      const token = this.#peek();
      if (token?.kind !== "field" || token.hasSpaceBefore) return path;
      path.push(token.text.slice(1));
      this.#position += 1;
    }
  }

  #requireVariable(name: string): void {
    if (!this.#variables.includes(name)) throw new TemplateError(`undefined variable "${name}"`);
  }

  #close(): void {
    const token = this.#next();
    if (token?.kind !== "close") {
      throw new TemplateError(`unexpected ${JSON.stringify(token?.text ?? "")} at the end of an action`);
    }
  }

  #consume(punctuation: string): boolean {
    if (punctuationOf(this.#peek()) !== punctuation) return false;
    this.#position += 1;
    return true;
  }

  #peekIdentifier(): string | undefined {
    const token = this.#peek();
    return token?.kind === "identifier" ? token.text : undefined;
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#position];
  }

  #next(): Token | undefined {
    this.#budget.spend(1);
    this.#position += 1;
    return this.#tokens[this.#position - 1];
  }
}

function punctuationOf(token: Token | undefined): string {
  return token?.kind === "punctuation" ? token.text : "";
}

function readIdentifier(name: string): Operand {
  if (name === "true" || name === "false") return { kind: "constant", value: booleanValue(name === "true") };
  if (name === "nil") return { kind: "constant", value: nil };
  if (isFunction(name)) return { kind: "function", name };
  throw new TemplateError(`unknown function "${name}"`);
}
