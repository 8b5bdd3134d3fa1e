import type { Node, Operand, Pipe } from "./syntax.ts";

/**
 * The nodes up to the one that prints the response, for the last turn of a conversation: text that follows the response
 * must not be in the prompt before the model has generated it.
 */
export function cutAfterResponse(nodes: readonly Node[]): readonly Node[] {
  return cut(nodes).kept;
}

type CutResult = { readonly kept: readonly Node[]; readonly isCut: boolean };

function cut(nodes: readonly Node[]): CutResult {
  const kept: Node[] = [];
  for (const node of nodes) {
    if (node.kind === "action") {
      kept.push(node);
      if (printsResponse(node.pipe)) return { kept, isCut: true };
    } else if (node.kind === "if" || node.kind === "with" || node.kind === "range") {
      const body = cut(node.body);
      const otherwise = body.isCut ? { kept: [], isCut: true } : cut(node.otherwise ?? []);
      kept.push({ ...node, body: body.kept, otherwise: otherwise.kept });
      if (otherwise.isCut) return { kept, isCut: true };
    } else kept.push(node);
  }
  return { kept, isCut: false };
}

function printsResponse({ commands }: Pipe): boolean {
  return commands.some((command) => command.some(isResponse));
}

function isResponse(operand: Operand): boolean {
  if (operand.kind === "dot") return operand.path.includes("Response");
  return operand.kind === "pipe" && printsResponse(operand.pipe);
}
