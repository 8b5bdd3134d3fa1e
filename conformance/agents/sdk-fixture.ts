import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { EngineRequest, Message } from "@hearth-and-keep/engine";
import type { FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import { preparePython } from "@hearth-and-keep/test-servers";
import { createLlamaServerDriver } from "@hearth-and-keep/upstream-engine";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReadPdf } from "../../apps/hearth/src/dependencies.ts";
import { ResponseStore } from "../../apps/hearth/src/dialects/openai/responses/response-store.ts";
import { openPdfReader } from "../../apps/hearth/src/documents/read-pdf.ts";
import { startTestServer, tinyVision } from "../../apps/hearth/src/test/start-test-server.ts";

/** What the model writes in response to one request. */
export type Turn = {
  readonly thought?: string;
  readonly text?: string;
  readonly calls?: readonly (readonly [name: string, args: object])[];
  /** It writes until the client is gone. */
  readonly isEndless?: boolean;
};

/** The server as a flow sees it. */
export type FlowServer = {
  readonly url: string;
  /** Sends a request and keeps its body. */
  readonly fetch: typeof fetch;
  /** What the model was shown in each request of the flow. */
  readonly prompts: () => readonly (readonly Message[])[];
  /** The bodies of the flow's requests for a response of the model. */
  readonly bodies: () => readonly RequestBody[];
};

export type RequestBody = Readonly<Record<string, unknown>>;

/** One scenario of a client: the turns of the model, and what the client does and ends with. */
export type Flow = {
  readonly name: string;
  readonly turns: readonly Turn[];
  readonly run: (server: FlowServer) => Promise<void>;
};

/** A scenario that several APIs of a client have in common. */
export type SharedFlow<Api> = Omit<Flow, "run"> & {
  readonly run: (server: FlowServer, api: Api) => Promise<void>;
};

export function flowsFor<Api extends string>(
  apis: readonly Api[],
  flows: readonly SharedFlow<Api>[],
): readonly Flow[] {
  return apis.flatMap((api) =>
    flows.map(({ name, turns, run }) => ({
      name: `${api}: ${name}`,
      turns,
      run: (server) => run(server, api),
    })),
  );
}

export const model = "local-model";

/** The same model; some clients compact conversations only with a model of OpenAI's. */
export const gptModel = "gpt-local";

/** Clients demand a key; a server with default settings on this machine asks for none. */
export const apiKey = "none";

export const reportPdf: Buffer = await readFile(
  new URL("../../packages/document-text/src/fixtures/written-by-reportlab.pdf", import.meta.url),
);

/** A sentence of the report. */
export const reportSentence = "prices fell by 7 %";

type Capture = { readonly path: string; readonly body: RequestBody };

type ScriptedServer = AsyncDisposable & {
  /** Starts a flow with these turns. */
  readonly begin: (turns: readonly Turn[]) => FlowServer;
  readonly unplayedTurns: () => number;
  /** Every request of all flows, once. */
  readonly captures: () => readonly Capture[];
  readonly responses: ResponseStore;
};

/** Tests of all flows with one server, and one that records how many ended well. */
export function testFlows(packages: readonly string[], flows: readonly Flow[]): void {
  let server: ScriptedServer;
  const ended: string[] = [];
  beforeAll(async () => {
    server = await startScriptedServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.each(flows)("$name", async ({ name, turns, run }) => {
    await run(server.begin(turns));
    expect(server.unplayedTurns()).toBe(0);
    ended.push(name);
  });

  test("every flow ends, and real weights accept each of its requests", { timeout: 600_000 }, async () => {
    expect(ended).toEqual(flows.map(({ name }) => name));
    const clients = packages.map((name) => `${name} ${versionOf(name)}`).join(", ");
    recordFigure({
      claim: "agents 1",
      text: `${ended.length} of ${flows.length} flows of ${clients} end as their users expect`,
      counted: { reached: ended.length, needed: flows.length },
    });
    if (!sendsToRealWeights) return;
    const captures = server.captures();
    const sent = await sendToRealWeights(captures, server.responses);
    const accepted = sent.filter(({ error }) => error === undefined);
    expect(sent.filter(({ error }) => error !== undefined)).toEqual([]);
    recordFigure({
      claim: "agents 1",
      text: `${accepted.length} of ${captures.length} requests of ${clients} are accepted by real weights`,
      counted: { reached: accepted.length, needed: captures.length },
    });
  });
}

/** They take seconds to load, and minutes to read all prompts. */
const sendsToRealWeights: boolean = chooseSize({ ci: false, show: true, nightly: true });

/** The version in `package.json`, which is exact. */
function versionOf(name: string): string {
  // npm has refused a package.json of another shape.
  const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  return devDependencies[name] ?? "";
}

const mebibyte = 1024 * 1024;

/** A store with the default limits of the server. */
function createStore(): ResponseStore {
  return new ResponseStore({
    maxResponses: 512,
    maxBytes: 64 * mebibyte,
    maxTotalBytes: 256 * mebibyte,
    idleSeconds: 86_400,
  });
}

/** A server with default settings, except for the engine: the model writes the turns of a flow. */
async function startScriptedServer(): Promise<ScriptedServer> {
  await using stack = new AsyncDisposableStack();
  const readPdf = readOnce(stack.use(openPdfReader()).readPdf);
  const responses = createStore();
  const prompter = createPrompter();
  const server = stack.use(
    await startTestServer({
      models: { [model]: tinyVision, [gptModel]: tinyVision },
      script: (request) => playTurn(prompter.nextTurn(request)),
      description: { chatTemplate: "<think></think><tool_call>", canSeeImages: true },
      limits: { contextTokens: undefined },
      readPdf,
      responses,
    }),
  );
  const captures: Capture[] = [];
  const resources = stack.move();
  return {
    begin: (turns) => {
      const prompts = prompter.begin(turns);
      const firstCapture = captures.length;
      return {
        url: server.url,
        fetch: (input, init) => {
          captures.push(...readCapture(input, init));
          return fetch(input, init);
        },
        prompts: () => prompts,
        bodies: () => captures.slice(firstCapture).map(({ body }) => body),
      };
    },
    unplayedTurns: () => prompter.unplayed(),
    captures: () => [...new Map(captures.map((capture) => [JSON.stringify(capture), capture])).values()],
    responses,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** All flows have the same PDF, and a process is started for each reading. */
function readOnce(readPdf: ReadPdf): ReadPdf {
  const texts = new Map<string, ReturnType<ReadPdf>>();
  return (bytes, signal) => {
    const digest = hash("sha256", bytes);
    const text = texts.get(digest) ?? readPdf(bytes, signal);
    texts.set(digest, text);
    return text;
  };
}

type Prompt = readonly Message[];

/** Hands out the turns of a flow, and keeps what the model was shown before each. */
function createPrompter() {
  let unplayed: Turn[] = [];
  let prompts: Prompt[] = [];
  let last: { readonly turn: Turn | undefined; readonly prompt: Prompt } | undefined;
  return {
    begin: (turns: readonly Turn[]): readonly Prompt[] => {
      unplayed = [...turns];
      prompts = [];
      last = undefined;
      return prompts;
    },
    unplayed: () => unplayed.length,
    nextTurn: ({ input, constraint }: EngineRequest): Turn | undefined => {
      const prompt = input.type === "conversation" ? input.conversation.messages : [];
      // A model with tools decides freely whether to call one, and then writes its response once more in the format.
      const isSecondPass = constraint !== undefined && isDeepStrictEqual(last?.prompt, prompt);
      if (isSecondPass) return last?.turn;
      last = { turn: unplayed.shift(), prompt };
      prompts.push(prompt);
      return last.turn;
    },
  };
}

const generationPaths = /\/(?:responses|chat\/completions|messages|api\/chat)$/u;

function readCapture(input: string | URL | Request, init: RequestInit | undefined): readonly Capture[] {
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  const text = init?.body;
  if (!generationPaths.test(pathname) || typeof text !== "string") return [];
  const body: RequestBody = JSON.parse(text);
  return [{ path: pathname, body }];
}

function* playTurn(turn: Turn | undefined): Generator<FakeEngineStep> {
  if (turn === undefined) throw new Error("The client sent more requests than the flow has turns");
  if (turn.thought !== undefined) yield { do: "write", text: `<think>\n${turn.thought}\n</think>\n\n` };
  // Several tokens, as a model writes them.
  for (const text of turn.text?.match(/.{1,8}/gsu) ?? []) yield { do: "write", text };
  for (const [name, args] of turn.calls ?? []) {
    const call = JSON.stringify({ name, arguments: args });
    yield { do: "write", text: `<tool_call>\n${call.slice(0, 20)}` };
    yield { do: "write", text: `${call.slice(20)}\n</tool_call>\n` };
  }
  while (turn.isEndless === true) {
    yield { do: "write", text: "on and " };
    yield { do: "wait", milliseconds: 10 };
  }
  yield { do: "end", reason: "stop" };
}

/** `error` is the response if it is one, or a stream that ends with one. */
type SentCapture = { readonly path: string; readonly error: string | undefined };

const errorInStream = /^event: error|"type":"response\.failed"|^(?:data: )?\{"error":/mu;

/** Sends each request to a tiny model in llama.cpp, with what the scripted server has stored. */
async function sendToRealWeights(
  captures: readonly Capture[],
  responses: ResponseStore,
): Promise<readonly SentCapture[]> {
  await using documents = openPdfReader();
  const { interpreter } = await preparePython();
  const driver = createLlamaServerDriver({
    program: { kind: "xllamacpp", interpreter },
    onWarning: () => undefined,
  });
  await using server = await startTestServer({
    models: { [model]: tinyVision },
    driver,
    limits: { contextTokens: 8192 },
    readPdf: documents.readPdf,
    responses,
  });
  const sent: SentCapture[] = [];
  for (const { path, body } of captures) {
    const short = { ...body, ...shortOutput(path) };
    const response = await fetch(server.url + path, { method: "POST", body: JSON.stringify(short) });
    const text = await response.text();
    sent.push({ path, error: response.ok && !errorInStream.test(text) ? undefined : text });
  }
  return sent;
}

/** Random weights do not know when to stop. */
function shortOutput(path: string): RequestBody {
  const settings = { temperature: 0, seed: 1 };
  if (path.endsWith("/responses")) return { ...settings, max_output_tokens: 16 };
  if (path === "/api/chat") return { options: { ...settings, num_predict: 8 } };
  return { temperature: 0, max_tokens: 8 };
}
