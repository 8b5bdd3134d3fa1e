import { FailureError } from "@hearth-and-keep/failures";
import { type ProviderClient, resolveUnder, sendProviderRequest } from "../sign-in/provider-client.ts";

/** Why a check could not find out everything; the first reason of a check counts. */
export type CheckFailure =
  /** The provider did not respond, or failed. */
  | "unreachable"
  /** The provider does not accept the token, or does not let it see the members. */
  | "refused"
  | "rate-limited"
  /** The check has sent as many requests as one may. */
  | "too-many-requests";

export type ProviderSource = {
  readonly client: ProviderClient;
  readonly api: URL;
  readonly token: string;
  /** Aborted at shutdown; no further request is sent then. */
  readonly signal: AbortSignal;
};

type ProviderAnswer = {
  readonly status: number;
  readonly value: unknown;
  readonly hasNextPage: boolean;
};

/** The requests of one check. */
export type ProviderRequests = {
  /** Undefined when the provider does not answer the question; `failure` says why. */
  get(path: string): Promise<ProviderAnswer | undefined>;
  /** Notes that an answer does not decide. */
  fail(failure: CheckFailure): undefined;
  failure(): CheckFailure | undefined;
  /** How long the provider asks clients to wait. */
  waitSeconds(): number;
};

/** Below the 5,000 per hour that GitHub allows, for a check every ten minutes of all but the largest organizations. */
const maxRequests = 2000;
/** After which a check stops, because each request may take until its timeout. */
const maxUnanswered = 5;
/** GitHub's advice without a header that says it. */
const defaultWaitSeconds = 60;
const maxWaitSeconds = 3600;

export function createProviderRequests({ client, api, token, signal }: ProviderSource): ProviderRequests {
  let sent = 0;
  let unanswered = 0;
  let failure: CheckFailure | undefined;
  let waitSeconds = 0;
  const fail = (reason: CheckFailure): undefined => {
    failure ??= reason;
  };
  const send = async (path: string): Promise<ProviderAnswer | undefined> => {
    const { status, headers, bytes } = await sendProviderRequest(
      resolveUnder(api, path),
      { authorization: `Bearer ${token}`, headers: { accept: "application/json" } },
      client,
    );
    const wait = readWait(status, headers);
    if (wait !== undefined) {
      waitSeconds = wait;
      return fail("rate-limited");
    }
    if (status >= 500) return fail("unreachable");
    if (status !== 200 && status !== 404) return fail("refused");
    const link = headers["link"];
    const hasNextPage = typeof link === "string" && /rel="?next"?/u.test(link);
    return { status, value: JSON.parse(bytes.toString("utf8")), hasNextPage };
  };
  return {
    async get(path) {
      if (waitSeconds > 0 || unanswered >= maxUnanswered || signal.aborted) return undefined;
      sent += 1;
      if (sent > maxRequests) return fail("too-many-requests");
      try {
        return await send(path);
      } catch (error) {
        if (!(error instanceof FailureError || error instanceof SyntaxError)) throw error;
        unanswered += 1;
        return fail("unreachable");
      }
    },
    fail,
    failure: () => failure,
    waitSeconds: () => waitSeconds,
  };
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Seconds to wait, by the headers that GitHub documents; undefined unless the response is about a rate limit. */
function readWait(status: number, headers: Headers): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const seconds = readNumber(headers["retry-after"]);
  if (seconds !== undefined) return bound(seconds);
  const reset = readNumber(headers["x-ratelimit-reset"]);
  if (readNumber(headers["x-ratelimit-remaining"]) === 0)
    return reset === undefined ? defaultWaitSeconds : bound(reset - Date.now() / 1000);
  return status === 429 ? defaultWaitSeconds : undefined;
}

function readNumber(header: Headers[string]): number | undefined {
  return typeof header === "string" && /^\d{1,12}$/u.test(header) ? Number(header) : undefined;
}

function bound(seconds: number): number {
  return Math.min(Math.max(Math.ceil(seconds), 1), maxWaitSeconds);
}
