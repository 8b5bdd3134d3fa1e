import type { HttpResponse } from "@hearth-and-keep/http-service";
import type { HearthDependencies, HearthRequest } from "../../../dependencies.ts";
import { nameOf, requireCapability, resolveModel } from "../resolve-model.ts";
import type { GenerateBody } from "../schema.ts";
import { type ContextTurn, writeContext } from "./context-numbers.ts";
import { handleLoadOnly } from "./load-only.ts";
import { readGenerateRequest, readTurns, rejectContradictions } from "./read-request.ts";
import type { OutputChunk } from "./stream-events.ts";
import { writeResponse } from "./write-response.ts";

export async function handleGenerate(
  request: HearthRequest<GenerateBody>,
  dependencies: HearthDependencies,
): Promise<HttpResponse> {
  const { body } = request;
  rejectContradictions(body);
  const resolved = await resolveModel(dependencies.models, nameOf(body));
  const checkCapability = (): void => requireCapability(resolved, "completion", "generate");
  if (!body.prompt && !body.suffix && !body.images?.length) {
    return handleLoadOnly(request, resolved, {
      ...dependencies,
      emptyOutput: { response: "" },
      checkCapability,
    });
  }
  checkCapability();
  const turns = readTurns(body);
  return writeResponse(request, dependencies, {
    requestedName: resolved.requestedName,
    generation: await readGenerateRequest(request, resolved, turns),
    isStreamed: body.stream !== false,
    writeOutput: ({ text, thinking }) => ({ response: text, ...(thinking === "" ? {} : { thinking }) }),
    writeEnd: (output) => (body.raw === true || body.suffix ? {} : writeTurns(turns, output)),
  });
}

function writeTurns(turns: readonly ContextTurn[], { text }: OutputChunk) {
  const context = writeContext([...turns, { role: "assistant", content: text }]);
  return context === undefined ? {} : { context };
}
