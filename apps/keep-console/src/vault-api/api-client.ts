/**
 * @module
 * The way to Keep's API: requests typed by the contract, problems as one kind of error, and what was read remembered
 * until something changes it. Every write carries an `Idempotency-Key`, and a precondition where there is one to give.
 * Promises that no value is kept here: what is revealed lives in the screen that shows it, and nowhere else.
 * Imported by screens.
 */
import type { Problem } from "@hearth-and-keep/vault-contract";

/** What of a problem document is needed here. */
type Told = Partial<Omit<Problem, "code">> & Pick<Problem, "title"> & { readonly code: KeepProblem["code"] };

/** What Keep said instead of an answer, in its words. */
export class KeepProblem extends Error {
  override readonly name = "KeepProblem";
  readonly status: number;
  readonly code: Problem["code"] | "unreachable";

  constructor(status: number, problem: Told) {
    super(wordsOf(problem));
    this.status = status;
    this.code = problem.code;
  }
}

/** With what it has against single fields. */
function wordsOf({ title, detail, errors = [] }: Told): string {
  const reasons = errors.map(({ place, reason }) => `${place} ${reason}`).join(", ");
  return [title, detail ?? "", reasons].filter((part) => part !== "").join(": ");
}

export type Wish = {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly body?: unknown;
  /** The ETag that was read; `new` for what must not be there yet, `any` for what must be there, as it may be. */
  readonly revision?: number | "new" | "any";
  readonly signal?: AbortSignal;
};

export type Answered<Body> = {
  readonly status: number;
  readonly body: Body;
  readonly etag: string | undefined;
};

/** Undefined as a body when there is none. */
export async function ask<Body>(path: string, wish: Wish = {}): Promise<Answered<Body>> {
  const { method = "GET", body, signal } = wish;
  const response = await fetch(path, {
    method,
    headers: headersOf(wish),
    credentials: "same-origin",
    cache: "no-store",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((problem: unknown) => {
    if (signal?.aborted === true) throw problem;
    throw new KeepProblem(0, { title: "Keep cannot be reached", code: "unreachable" });
  });
  const text = await response.text();
  const answer: unknown = text === "" || !isJson(response) ? text : JSON.parse(text);
  // Whatever is not a success is a problem document of the contract.
  if (!response.ok) throw refusal(response.status, answer as Partial<Problem>);
  // The server checks its answers against the same contract.
  return { status: response.status, body: answer as Body, etag: response.headers.get("etag") ?? undefined };
}

/** A session that ended takes the person to the sign-in page, and back again afterwards. */
function refusal(status: number, answer: Partial<Problem>): KeepProblem {
  if (status === 401) {
    const back = encodeURIComponent(window.location.pathname + window.location.search);
    window.location.assign(`/sign-in?return_to=${back}`);
  }
  return new KeepProblem(status, {
    ...answer,
    title: answer.title ?? "Keep answered in a way this page does not understand",
    code: answer.code ?? "internal",
  });
}

function isJson(response: Response): boolean {
  return (response.headers.get("content-type") ?? "").includes("json");
}

function headersOf({ method = "GET", body, revision }: Wish): Record<string, string> {
  return {
    accept: "application/json",
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(method === "GET" ? {} : { "idempotency-key": crypto.randomUUID() }),
    ...(revision === "new" ? { "if-none-match": "*" } : {}),
    ...(revision === "any" ? { "if-match": "*" } : {}),
    ...(typeof revision === "number" ? { "if-match": `"${revision}"` } : {}),
  };
}
