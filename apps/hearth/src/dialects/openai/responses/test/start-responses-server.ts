/**
 * @module
 * The Responses interface alone, over real HTTP, a real store and a scripted engine or llama.cpp: with its own schema, and with a
 * response store when a test wants one. The bearer token names the key.
 * Imported by the tests of this interface.
 */
import { createHttpService } from "@hearth-and-keep/http-service";
import {
  createLlamaDriver,
  type EngineDescription,
  type GenerateRequest,
  type Message,
} from "@hearth-and-keep/llama-engine";
import {
  createScriptedEngine,
  type Script,
  type ScriptedEngine,
} from "@hearth-and-keep/llama-engine/testing";
import { makeTemporaryFolder, testModel } from "@hearth-and-keep/test-servers";
import OpenAI from "openai";
import { createCatalog } from "../../../../models/catalog.ts";
import { createFromFile } from "../../../../models/create-from-file.ts";
import { openModelStore } from "../../../../models/store/model-store.ts";
import type { HearthParts } from "../../../../parts.ts";
import { takes } from "../../../../route-row.ts";
import { createScheduler } from "../../../../scheduling/scheduler.ts";
import { openaiFamily } from "../../errors.ts";
import { answerResponses, type ResponsesParts } from "../answer-responses.ts";
import type { ResponseStore } from "../response-store.ts";
import { responsesRequest } from "../schema.ts";

export type ResponsesServerPlan = {
  /** Without one the model runs in llama.cpp, with one thread. */
  readonly script?: Script;
  readonly description?: Partial<EngineDescription>;
  readonly responses?: ResponseStore;
};

export type ResponsesServer = AsyncDisposable & {
  readonly url: string;
  readonly requests: readonly GenerateRequest[];
  readonly notes: Readonly<Record<string, unknown>>;
  client(keyName?: string): OpenAI;
};

export async function startResponsesServer(plan: ResponsesServerPlan): Promise<ResponsesServer> {
  await using stack = new AsyncDisposableStack();
  const engines: ScriptedEngine[] = [];
  const parts = await makeParts(stack, plan, engines);
  const notes: Record<string, unknown> = {};
  const row = takes(responsesRequest, (call) => answerResponses(call, { ...parts, ...pick(plan) }));
  const service = createHttpService({
    routes: [
      {
        method: "POST",
        path: "/v1/responses",
        handle: (call) => {
          const keyName = String(call.headers["authorization"] ?? "none");
          // The row above takes its parts from here, and looks at no others.
          return row.handle({ ...call, caller: { keyName, cachePartition: keyName } }, parts as HearthParts);
        },
      },
    ],
    mostBodyBytes: 1_000_000,
    answerFailure: (problem, _row, head) => openaiFamily.answerFailure(problem, head),
    recordRequest: (record) => Object.assign(notes, record),
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  stack.defer(() => service.close(1));
  const kept = stack.move();
  return {
    url,
    notes,
    get requests() {
      return engines.flatMap((engine) => engine.requests);
    },
    client: (keyName = "none") => new OpenAI({ baseURL: `${url}/v1`, apiKey: keyName, maxRetries: 0 }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** What an engine was shown. */
export function messagesOf(request: GenerateRequest | undefined): readonly Message[] {
  if (request?.input.type !== "conversation") throw new Error("Cannot look: the engine got no conversation");
  return request.input.conversation.messages;
}

function pick({ responses }: ResponsesServerPlan): { readonly responses?: ResponseStore } {
  return responses === undefined ? {} : { responses };
}

async function makeParts(
  stack: AsyncDisposableStack,
  { script, description }: ResponsesServerPlan,
  engines: ScriptedEngine[],
): Promise<ResponsesParts> {
  const folder = stack.use(await makeTemporaryFolder("hearth-models"));
  const store = await openModelStore(folder.path, "own");
  await createFromFile([store], { name: "tiny", file: await testModel("tiny-llama.gguf") });
  const abilities = { templateAbilities: { tools: true, thinking: true }, splitsEvents: true };
  const scheduler = createScheduler({
    ...(script === undefined ? { loadSettings: { threads: 1, gpuLayers: 0 } } : {}),
    driver:
      script === undefined
        ? createLlamaDriver()
        : {
            load: async ({ contextTokens, sequences }) => {
              const told = { contextTokens, sequences, ...abilities, ...description };
              const engine = createScriptedEngine(script, told);
              engines.push(engine);
              return engine;
            },
          },
    limits: { contextTokens: 64, sequences: 2 },
  });
  stack.defer(() => scheduler.close(0));
  return { models: createCatalog([store]), scheduler };
}
