import type { Node, Operand, ParsedTemplate, Pipe } from "./syntax.ts";

/** All fields and variables that a template references, in lower case. */
export function listNames({ nodes, named }: ParsedTemplate): ReadonlySet<string> {
  const all = [nodes, ...named.values()].flatMap((each) => each.flatMap(namesOfNode));
  return new Set(all.map((name) => name.toLowerCase()));
}

function namesOfNode(node: Node): readonly string[] {
  switch (node.kind) {
    case "action":
      return namesOfPipe(node.pipe);
    case "template":
      return node.pipe === undefined ? [] : namesOfPipe(node.pipe);
    case "if":
    case "with":
    case "range":
      return [...namesOfPipe(node.pipe), ...[...node.body, ...(node.otherwise ?? [])].flatMap(namesOfNode)];
    case "text":
    case "break":
    case "continue":
      return [];
  }
}

function namesOfPipe({ commands }: Pipe): readonly string[] {
  return commands.flatMap((command) => command.flatMap(namesOfOperand));
}

function namesOfOperand(operand: Operand): readonly string[] {
  switch (operand.kind) {
    case "dot":
    case "variable":
      return operand.path;
    case "pipe":
      return [...namesOfPipe(operand.pipe), ...operand.path];
    case "constant":
    case "function":
      return [];
  }
}
