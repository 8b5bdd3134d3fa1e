import type { Budget } from "../budget.ts";
import { TemplateError } from "../template-error.ts";
import { isFunction } from "./functions.ts";
import { readConstant } from "./read-constant.ts";
import { readTokens, type Token } from "./tokens.ts";
import type { GoValue } from "./values.ts";
import { nil, truthValue } from "./values.ts";

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
  /** Made by `define` and `block`. */
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
  #place = 0;
  #variables = ["$"];
  #ranges = 0;

  constructor(tokens: readonly Token[], budget: Budget) {
    this.#tokens = tokens;
    this.#budget = budget;
  }

  readAll(): readonly Node[] {
    const { nodes, ending } = this.#readNodes();
    if (ending !== "source") throw new TemplateError(`it has "${ending}" where nothing is open`);
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
      const word = this.#peekWord();
      if (word === "end" || word === "else") {
        this.#place += 1;
        // What follows "else" is read by whoever opened.
        if (word === "end") this.#close();
        return { nodes, ending: word };
      }
      const node = this.#budget.nest(() => this.#readAction(word));
      if (node !== undefined) nodes.push(node);
    }
  }

  #readAction(word: string | undefined): Node | undefined {
    if (word === "if" || word === "with" || word === "range") {
      this.#place += 1;
      return this.#readBranch(word);
    }
    if (word === "define" || word === "block" || word === "template") {
      this.#place += 1;
      return this.#readNamed(word);
    }
    if (word === "break" || word === "continue") {
      this.#place += 1;
      if (this.#ranges === 0) throw new TemplateError(`it has "${word}" outside a range`);
      this.#close();
      return { kind: word };
    }
    const pipe = this.#readPipe();
    this.#close();
    return { kind: "action", pipe };
  }

  #readBranch(kind: Branch["kind"]): Branch {
    const known = this.#variables.length;
    const pipe = this.#readPipe(kind === "range" ? 2 : 1);
    this.#close();
    if (kind === "range") this.#ranges += 1;
    const { nodes: body, ending } = this.#readNodes();
    if (kind === "range") this.#ranges -= 1;
    const otherwise = ending === "else" ? this.#readElse(kind) : undefined;
    if (ending === "source") throw new TemplateError(`it has "${kind}" without an "end"`);
    this.#variables.length = known;
    return { kind, pipe, body, otherwise };
  }

  #readElse(kind: Branch["kind"]): readonly Node[] {
    const word = this.#peekWord();
    if (word === kind && (word === "if" || word === "with")) {
      this.#place += 1;
      return [this.#budget.nest(() => this.#readBranch(word))];
    }
    this.#close();
    const { nodes, ending } = this.#readNodes();
    if (ending !== "end") throw new TemplateError(`it has "else" without an "end"`);
    return nodes;
  }

  #readNamed(kind: "define" | "block" | "template"): Node | undefined {
    const written = this.#next();
    const constant = written === undefined ? undefined : readConstant(written);
    if (constant?.kind !== "text") throw new TemplateError(`it has "${kind}" without a name`);
    const name = constant.text;
    const pipe = kind === "define" || this.#peek()?.kind === "close" ? undefined : this.#readPipe();
    this.#close();
    if (kind === "template") return { kind: "template", name, pipe };
    const outer = { variables: this.#variables, ranges: this.#ranges };
    this.#variables = ["$"];
    this.#ranges = 0;
    const { nodes, ending } = this.#readNodes();
    if (ending !== "end") throw new TemplateError(`it has "${kind}" without an "end"`);
    this.#variables = outer.variables;
    this.#ranges = outer.ranges;
    if (kind === "define" || !this.named.has(name)) this.named.set(name, nodes);
    return kind === "block" ? { kind: "template", name, pipe } : undefined;
  }

  #readPipe(mostVariables = 1): Pipe {
    const { variables, isAssignment } = this.#readVariables(mostVariables);
    const commands: Command[] = [];
    do {
      commands.push(this.#readCommand());
      // Go lets a pipe end with its sign.
    } while (this.#takeSign("|") && this.#peek()?.kind !== "close");
    // A variable is known behind its own declaration, not in it.
    if (!isAssignment) this.#variables.push(...variables);
    return { variables, isAssignment, commands };
  }

  #readVariables(most: number): Pick<Pipe, "variables" | "isAssignment"> {
    const start = this.#place;
    const variables: string[] = [];
    do {
      const token = this.#next();
      if (token?.kind !== "variable" || variables.length === most) break;
      variables.push(token.text);
      if (this.#takeSign(":=")) return { variables, isAssignment: false };
      if (this.#takeSign("=")) {
        for (const name of variables) this.#requireVariable(name);
        return { variables, isAssignment: true };
      }
    } while (this.#takeSign(","));
    this.#place = start;
    return { variables: [], isAssignment: false };
  }

  #readCommand(): Command {
    const first = this.#readOperand();
    if (first === undefined) throw new TemplateError("it has an action or a pipe with nothing in it");
    const rest: Operand[] = [];
    for (;;) {
      const operand = this.#readOperand();
      if (operand === undefined) return [first, ...rest];
      rest.push(operand);
    }
  }

  /** Undefined where the command is over. */
  #readOperand(): Operand | undefined {
    const token = this.#peek();
    if (token === undefined || token.kind === "close" || ["|", ")"].includes(signOf(token))) return undefined;
    this.#place += 1;
    const constant = readConstant(token);
    if (constant !== undefined) return { kind: "constant", value: constant };
    if (token.kind === "word") return readWord(token.text);
    if (token.kind === "field") return { kind: "dot", path: [token.text.slice(1), ...this.#readPath()] };
    if (token.kind === "variable") {
      this.#requireVariable(token.text);
      return { kind: "variable", name: token.text, path: this.#readPath() };
    }
    if (token.text === ".") return { kind: "dot", path: [] };
    if (token.text === "(") return this.#budget.nest(() => this.#readParentheses());
    throw new TemplateError(`it has ${JSON.stringify(token.text)} where a value belongs`);
  }

  #readParentheses(): Operand {
    const pipe = this.#readPipe();
    if (!this.#takeSign(")")) throw new TemplateError("it has a parenthesis that is not closed");
    return { kind: "pipe", pipe, path: this.#readPath() };
  }

  #readPath(): readonly string[] {
    const path: string[] = [];
    for (;;) {
      const token = this.#peek();
      if (token?.kind !== "field" || token.isApart) return path;
      path.push(token.text.slice(1));
      this.#place += 1;
    }
  }

  #requireVariable(name: string): void {
    if (!this.#variables.includes(name))
      throw new TemplateError(`it does not declare the variable "${name}"`);
  }

  #close(): void {
    const token = this.#next();
    if (token?.kind !== "close") {
      throw new TemplateError(`it has ${JSON.stringify(token?.text ?? "")} where an action should end`);
    }
  }

  #takeSign(sign: string): boolean {
    if (signOf(this.#peek()) !== sign) return false;
    this.#place += 1;
    return true;
  }

  #peekWord(): string | undefined {
    const token = this.#peek();
    return token?.kind === "word" ? token.text : undefined;
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#place];
  }

  #next(): Token | undefined {
    this.#budget.spend(1);
    this.#place += 1;
    return this.#tokens[this.#place - 1];
  }
}

function signOf(token: Token | undefined): string {
  return token?.kind === "sign" ? token.text : "";
}

function readWord(word: string): Operand {
  if (word === "true" || word === "false") return { kind: "constant", value: truthValue(word === "true") };
  if (word === "nil") return { kind: "constant", value: nil };
  if (isFunction(word)) return { kind: "function", name: word };
  throw new TemplateError(`it calls "${word}", which is no function known here`);
}
