/**
 * @module
 * The program of a model's child process: it loads one model file, answers calls over the channel to the server,
 * and ends when the channel closes. Everything that comes from a model file or a caller's grammar runs here.
 * It says a heartbeat while its event loop turns, and sends events gathered.
 * Nothing imports it: the driver starts it by its path.
 */

import { grammarFor } from "@hearth-and-keep/chat-templates";
import type { EngineFailure, GenerateRequest, LoadPlan } from "@hearth-and-keep/engine";
import { FailureError } from "@hearth-and-keep/failures";
import { embedTexts } from "./embed-texts.ts";
import { openOutbox } from "./event-outbox.ts";
import { createGenerator, type Generator, type PreparedRequest } from "./generate.ts";
import { type HostedModel, loadModel } from "./hosted-model.ts";
import { type FromWorker, heartbeatSeconds, type ToWorker } from "./messages.ts";
import { useOwnBuild } from "./own-build.ts";
import { createPreparer, type Preparer } from "./prepare-request.ts";

type Call = Exclude<ToWorker, { type: "load" | "abort" }>;

type Loaded = {
  readonly hosted: HostedModel;
  readonly preparer: Preparer;
  /** Undefined for a model that only embeds or ranks. */
  readonly generator: Generator | undefined;
};

let loaded: Loaded | undefined;
const underWay = new Map<number, AbortController>();

function send(message: FromWorker): void {
  process.send?.(message);
}

async function load(plan: LoadPlan, buildFolder: string | undefined): Promise<void> {
  try {
    if (buildFolder !== undefined) useOwnBuild(buildFolder);
    const hosted = await loadModel(plan, (share) => send({ type: "load-progress", share }));
    const { context } = hosted;
    const generator = context.purpose === "generate" ? createGenerator(hosted, context.sequences) : undefined;
    loaded = { hosted, preparer: createPreparer(hosted), generator };
    send({ type: "loaded", description: hosted.description });
  } catch (problem) {
    send({
      type: "load-failed",
      failure: asFailure(problem) ?? { kind: "model-invalid", reason: String(problem) },
    });
  }
}

async function answer(call: Call): Promise<void> {
  const hangUp = new AbortController();
  underWay.set(call.id, hangUp);
  try {
    if (loaded === undefined) throw new Error("Cannot answer before a model is loaded");
    const value = await perform(call, { ...loaded, signal: hangUp.signal });
    send({ type: "answer", id: call.id, value });
  } catch (problem) {
    const failure = asFailure(problem);
    if (failure !== undefined) send({ type: "failed", id: call.id, failure });
    // A caller that hung up expects no answer, but its id must be released on the other side.
    else if (hangUp.signal.aborted) send({ type: "answer", id: call.id, value: null });
    else
      send({
        type: "broken",
        id: call.id,
        reason: problem instanceof Error ? (problem.stack ?? "") : String(problem),
      });
  } finally {
    underWay.delete(call.id);
  }
}

type Surroundings = Loaded & { readonly signal: AbortSignal };

async function perform(call: Call, surroundings: Surroundings): Promise<unknown> {
  const {
    hosted: { model, context },
    preparer: { render, tokenizeInput },
    signal,
  } = surroundings;
  switch (call.type) {
    case "tokenize":
      return [...model.tokenize(call.text, true)];
    case "render":
      return render(call.conversation);
    case "count":
      return tokenizeInput({ type: "conversation", conversation: call.conversation }).length;
    case "generate":
      return generate(call.id, call.request, surroundings);
    case "embed":
      if (context.purpose !== "embed") throw notSupported("embeddings");
      return embedTexts(call.request, {
        model,
        context: context.context,
        contextTokens: surroundings.hosted.description.contextTokens,
        signal,
      });
    case "rank":
      if (context.purpose !== "rank") throw notSupported("ranking");
      return context.context.rankAll(call.query, [...call.documents]);
  }
}

async function generate(
  id: number,
  request: GenerateRequest,
  { generator, preparer: { tokenizeInput }, signal }: Surroundings,
): Promise<null> {
  if (generator === undefined) throw notSupported("generation");
  const prepared: PreparedRequest = {
    ...request,
    prompt: tokenizeInput(request.input),
    grammar: grammarFor(request.constraint),
  };
  const outbox = openOutbox((events) => send({ type: "events", id, events }));
  try {
    await generator.generate(prepared, { signal, post: (event) => outbox.post(event) });
  } finally {
    outbox.close();
  }
  return null;
}

function notSupported(feature: string): FailureError<EngineFailure> {
  return new FailureError<EngineFailure>({ kind: "not-supported", feature });
}

function asFailure(problem: unknown): EngineFailure | undefined {
  // Everything this process throws in a FailureError is of the port's union.
  return problem instanceof FailureError ? (problem.failure as EngineFailure) : undefined;
}

process.on("message", (message: ToWorker) => {
  if (message.type === "load") void load(message.plan, message.buildFolder);
  else if (message.type === "abort") underWay.get(message.id)?.abort();
  else void answer(message);
});
process.on("disconnect", () => process.exit(0));
setInterval(() => {
  const hosted = loaded?.hosted;
  const choosingSeconds = hosted?.context.purpose === "generate" ? hosted.context.choosingSeconds() : 0;
  send({ type: "heartbeat", threads: hosted?.threads(), choosingSeconds });
}, heartbeatSeconds * 1000);
