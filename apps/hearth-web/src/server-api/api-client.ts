/**
 * @module
 * The way to this server's own API: whole answers, streams of lines, and what goes wrong as one kind of error that
 * has the server's sentence and what to do next. The browser adds the password that the person typed; no key is ever
 * seen or kept here.
 * Imported by `state/` and by screens.
 */
import { nextStepFor } from "./next-step.ts";

/** What the server said instead of an answer, in its words. */
export class ServerProblem extends Error {
  override readonly name = "ServerProblem";
  readonly status: number;
  readonly nextStep: string;

  constructor(status: number, sentence: string) {
    super(sentence);
    this.status = status;
    this.nextStep = nextStepFor(status, sentence);
  }
}

export type Wish = {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: unknown;
  readonly signal?: AbortSignal;
};

export async function ask<Body>(path: string, wish: Wish = {}): Promise<Body> {
  const response = await reach(path, wish);
  const text = await response.text();
  // The shapes are those of the documented API of this same server.
  return (text === "" ? undefined : JSON.parse(text)) as Body;
}

export async function askText(path: string, wish: Wish = {}): Promise<string> {
  return (await reach(path, wish)).text();
}

/** One object for each line of a streamed answer. It ends when the stream does, whether or not that was its end. */
export async function* askLines<Line>(path: string, wish: Wish): AsyncGenerator<Line> {
  const response = await reach(path, wish);
  const reader = (response.body ?? new Blob([]).stream()).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const lines = (rest + piece.value).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim() !== "") yield readLine<Line>(line);
    }
    if (rest.trim() !== "") yield readLine<Line>(rest);
  } catch (problem) {
    if (wish.signal?.aborted === true || problem instanceof ServerProblem) throw problem;
    throw new ServerProblem(0, "The connection to Hearth broke");
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function readLine<Line>(line: string): Line {
  // As above; a failure in mid-stream is an object with nothing but its sentence.
  const read = JSON.parse(line) as Line & { readonly error?: string };
  if (typeof read.error === "string") throw new ServerProblem(500, read.error);
  return read;
}

async function reach(path: string, { method = "GET", body, signal }: Wish): Promise<Response> {
  const response = await fetch(path, {
    method,
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    cache: "no-store",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((problem: unknown) => {
    if (signal?.aborted === true) throw problem;
    throw new ServerProblem(0, "Hearth cannot be reached");
  });
  if (!response.ok) throw new ServerProblem(response.status, sentenceOf(await response.text()));
  return response;
}

function sentenceOf(text: string): string {
  try {
    // Refusals of this family have one string; what has not is told as it came.
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === "string" ? error : text.slice(0, 500);
  } catch {
    return text.slice(0, 500);
  }
}

export function asProblem(thrown: unknown): ServerProblem {
  return thrown instanceof ServerProblem ? thrown : new ServerProblem(0, "Something went wrong on this page");
}
