import type { EngineClient, EngineQuestion } from "../wire/engine-client.ts";
import { type Fields, fieldsOf } from "../wire/json-fields.ts";
import { WireProblem } from "../wire/wire-problem.ts";

/** The fields of an answer with status 200; everything else is thrown, as the wire does for streams. */
export async function askEngine(
  client: EngineClient,
  question: EngineQuestion,
  signal: AbortSignal,
): Promise<Fields> {
  const { value, ...head } = await client.ask(question, signal);
  if (head.status !== 200) throw new WireProblem({ kind: "refused", value, ...head });
  return fieldsOf(value);
}
