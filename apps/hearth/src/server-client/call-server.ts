import { readFile } from "node:fs/promises";
import { createOutbound, type OutboundAnswer, OutboundProblem } from "@hearth-and-keep/outbound-http";
import { callFailure } from "./call-failure.ts";
import { type CallingEnvironment, readCallingEnvironment } from "./config.ts";
import { defaultServerAddress, parseServerAddress, type ServerAddress } from "./server-address.ts";

/** What every command that calls a server can be told. */
export type ServerFlags = { readonly host?: string; readonly apiKeyFile?: string };

export type ServerCaller = AsyncDisposable & {
  readonly address: ServerAddress;
  /** Whether a person named the server; one that they named is never started from here. */
  readonly isNamed: boolean;
  readonly apiKeyFile: string | undefined;
  /** The whole answer, read as JSON; an empty one is undefined. A GET without a body, a POST with one. */
  ask(path: string, body?: unknown, plan?: AskPlan): Promise<unknown>;
  /** One object of an answer after the other. */
  stream(path: string, body: unknown, signal?: AbortSignal): AsyncGenerator<StreamedObject>;
  hasBlob(digest: string): Promise<boolean>;
  upload(digest: string, bytes: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>;
};

type StreamedObject = Readonly<Record<string, unknown>>;

type AskPlan = { readonly idleSeconds?: number; readonly signal?: AbortSignal };

const mostAnswerBytes = 256 * 1024 * 1024;
const mostLineCharacters = 64 * 1024 * 1024;
const mostErrorBytes = 64 * 1024;
/** Longer than any model takes to load and any prompt to be read. */
const longestSilenceSeconds = 3600;
const usualSeconds = 60;

export async function openServer(flags: ServerFlags): Promise<ServerCaller> {
  const environment = readCallingEnvironment();
  const address = addressOf(flags, environment);
  const apiKeyFile = flags.apiKeyFile ?? environment.apiKeyFile;
  const key = await readKey(flags.apiKeyFile === undefined ? environment.apiKey : undefined, apiKeyFile);
  const { host } = new URL(address.url);
  const outbound = createOutbound({ privateHosts: [host.includes(":") ? host : `${host}:${address.port}`] });
  const request: Request = async (path, plan) => {
    try {
      return await outbound.request(new URL(address.url + path), {
        isInsecure: true,
        mostRedirects: 0,
        idleSeconds: usualSeconds,
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...plan,
      });
    } catch (problem) {
      throw explainOutbound(problem, address);
    }
  };
  const parts = { request, address, hasKey: key !== undefined };
  return {
    address,
    isNamed: flags.host !== undefined || environment.host !== undefined,
    apiKeyFile,
    ask: (path, body, plan = {}) => ask(parts, path, { ...plan, body }),
    stream: (path, body, signal) => stream(parts, path, { body, ...(signal && { signal }) }),
    hasBlob: async (digest) => {
      await using answer = await request(`/api/blobs/${digest}`, { method: "HEAD" });
      if (answer.status !== 200 && answer.status !== 404) await refuse(answer, parts);
      return answer.status === 200;
    },
    upload: (digest, bytes, signal) => upload(parts, digest, { bytes, ...(signal && { signal }) }),
    [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose](),
  };
}

type Request = (
  path: string,
  plan: Parameters<ReturnType<typeof createOutbound>["request"]>[1],
) => Promise<OutboundAnswer>;

type Parts = { readonly request: Request; readonly address: ServerAddress; readonly hasKey: boolean };

function addressOf({ host }: ServerFlags, environment: CallingEnvironment): ServerAddress {
  if (host !== undefined) return parseServerAddress(host);
  if (environment.host === undefined) return defaultServerAddress(environment.port);
  const { text, name } = environment.host;
  // The server takes its address and its port as two settings, so a bare address goes with that port.
  const isBare = name === "HEARTH_HOST" && environment.port !== undefined && /^[^:/]+$/u.test(text);
  return parseServerAddress(isBare ? `${text}:${environment.port}` : text, name);
}

async function readKey(key: string | undefined, file: string | undefined): Promise<string | undefined> {
  if (key !== undefined || file === undefined) return key;
  try {
    return (await readFile(file, "utf8")).trim().slice(0, 1024);
  } catch (problem) {
    throw callFailure({ kind: "key-file-unreadable", file }, { cause: problem });
  }
}

type Asked = AskPlan & { readonly body: unknown };

async function ask(parts: Parts, path: string, { body, idleSeconds, signal }: Asked): Promise<unknown> {
  await using answer = await parts.request(path, {
    ...written(body),
    ...(signal && { signal }),
    ...(idleSeconds === undefined ? {} : { idleSeconds }),
  });
  if (answer.status >= 300) await refuse(answer, parts);
  const text = await reading(async () => (await answer.readWhole(mostAnswerBytes)).toString("utf8"), parts);
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw callFailure({ kind: "server-strange", url: parts.address.url });
  }
}

async function* stream(parts: Parts, path: string, { body, signal }: Asked): AsyncGenerator<StreamedObject> {
  await using answer = await parts.request(path, {
    ...written(body),
    idleSeconds: longestSilenceSeconds,
    ...(signal && { signal }),
  });
  if (answer.status >= 300) await refuse(answer, parts);
  try {
    for await (const line of linesOf(answer.body)) {
      const object = readObject(line, parts);
      if (typeof object["error"] === "string") throw refusal(500, object["error"]);
      yield object;
    }
  } catch (problem) {
    throw explainOutbound(problem, parts.address);
  }
}

async function upload(
  parts: Parts,
  digest: string,
  { bytes, signal }: { readonly bytes: AsyncIterable<Uint8Array>; readonly signal?: AbortSignal },
): Promise<void> {
  await using answer = await parts.request(`/api/blobs/${digest}`, {
    method: "POST",
    body: bytes,
    idleSeconds: longestSilenceSeconds,
    ...(signal && { signal }),
  });
  if (answer.status >= 300) await refuse(answer, parts);
}

function written(body: unknown) {
  if (body === undefined) return { method: "GET" } as const;
  const headers = { "content-type": "application/json" };
  return { method: "POST", headers, body: Buffer.from(JSON.stringify(body)) } as const;
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > mostLineCharacters) throw callFailure({ kind: "answer-cut-off" });
    for (const line of lines) if (line.trim() !== "") yield line;
  }
  if (rest.trim() !== "") yield rest;
}

function readObject(line: string, { address }: Parts): StreamedObject {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null) return { ...value };
  } catch {
    // It is told below, like a value that is no object.
  }
  throw callFailure({ kind: "server-strange", url: address.url });
}

async function refuse(answer: OutboundAnswer, { address, hasKey }: Parts): Promise<never> {
  if (answer.status === 401) throw callFailure({ kind: "key-refused", url: address.url, hasKey });
  const text = (await answer.readWhole(mostErrorBytes).catch(() => Buffer.of())).toString("utf8");
  throw errorIn(text, answer.status) ?? callFailure({ kind: "server-strange", url: address.url });
}

function errorIn(text: string, status: number): Error | undefined {
  try {
    const { error } = JSON.parse(text);
    return typeof error === "string" ? refusal(status, error) : undefined;
  } catch {
    return undefined;
  }
}

/** Clients of this family tell a model that is not there by the same words. */
function refusal(status: number, text: string): Error {
  const [, missing] = /^model ['"]([^'"]*)['"] not found/u.exec(text) ?? [];
  if (missing !== undefined) {
    return callFailure({ kind: "server-model-missing", model: missing, isRemote: false });
  }
  if (text === "pull model manifest: file does not exist") {
    return callFailure({ kind: "server-model-missing", model: "", isRemote: true });
  }
  return callFailure({ kind: "server-refused", status, text });
}

async function reading<Result>(work: () => Promise<Result>, { address }: Parts): Promise<Result> {
  try {
    return await work();
  } catch (problem) {
    throw explainOutbound(problem, address);
  }
}

function explainOutbound(problem: unknown, { url, isLocal }: ServerAddress): unknown {
  if (!(problem instanceof OutboundProblem)) return problem;
  const cut = ["connection-broken", "answer-too-large"].includes(problem.reason);
  if (cut) return callFailure({ kind: "answer-cut-off" }, { cause: problem });
  const reason = reasons[problem.reason] ?? "it cannot be called";
  const isFree = problem.reason === "connection-refused";
  return callFailure({ kind: "server-unreachable", url, reason, isLocal, isFree }, { cause: problem });
}

const reasons: Readonly<Partial<Record<OutboundProblem["reason"], string>>> = {
  "no-address": "that name has no address",
  "connection-refused": "nothing listens there",
  "certificate-untrusted": "its certificate is not trusted here",
  "timed-out": "no answer came in time",
  "scheme-forbidden": "only http and https are spoken",
};
