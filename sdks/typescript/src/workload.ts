import { ConfigurationError } from "./errors.ts";
import { fieldOf, type HttpLimits, sendRequest, unexpected } from "./http.ts";
import type { ExchangedToken } from "./responses.ts";
import { isSafe } from "./server-address.ts";

export type TokenSource = {
  /** A token that is valid for a while. */
  read(): Promise<string>;
  /** Makes the next read return another token; false when there is none. */
  discard(token: string): boolean;
  /** The exchanged token, which nobody else uses. */
  readonly owned: () => string | undefined;
};

export type SubjectToken = () => Promise<string>;

const maxTokenCharacters = 16_384;
/** The share of its lifetime after which a token is replaced. */
const renewalShare = 0.8;
const requestLimits: HttpLimits = { timeoutSeconds: 10, maxRetries: 3 };

/** Reads the token of a pod or a CI job, which the platform replaces, from a file. Needs Node, Deno or Bun. */
export function tokenFromFile(path: string): SubjectToken {
  return async () => {
    const { readFile } = await import("node:fs/promises");
    const text = await readFile(path, "utf8").catch(() => "");
    const token = text.trim();
    if (token === "" || token.length > maxTokenCharacters)
      throw new ConfigurationError(`There is no token in ${path}`);
    return token;
  };
}

export type GitHubRequest = {
  /** Of the trust rule, `https://KEEP/accounts/ID`. */
  readonly audience: string;
  /** `ACTIONS_ID_TOKEN_REQUEST_URL` */
  readonly url: string;
  /** `ACTIONS_ID_TOKEN_REQUEST_TOKEN` */
  readonly requestToken: string;
};

/** Requests the token of a job of GitHub Actions that has the permission `id-token: write`. */
export function gitHubToken({ audience, url, requestToken }: GitHubRequest): SubjectToken {
  return async () => {
    const address = URL.canParse(url) ? new URL(url) : undefined;
    if (address === undefined || !isSafe(address) || requestToken === "")
      throw new ConfigurationError("This job has no identity: give it the permission id-token: write");
    address.searchParams.set("audience", audience);
    const headers = { authorization: `Bearer ${requestToken}` };
    const { body } = await sendRequest({ url: address, headers, isRepeatable: true }, requestLimits);
    const token = fieldOf(body, "value");
    if (typeof token !== "string") throw unexpected("GitHub returned no token");
    return token;
  };
}

export function fixedToken(token: string): TokenSource {
  return { read: async () => token, discard: () => false, owned: () => undefined };
}

type Exchanged = { readonly token: string; readonly renewAt: number; readonly expiresAt: number };

/** Exchanges a token of the platform for one of Keep, and again before it expires. */
export function exchangedToken(
  subjectToken: SubjectToken,
  { server, ...limits }: HttpLimits & { readonly server: string },
): TokenSource {
  let current: Exchanged | undefined;
  let pending: Promise<Exchanged> | undefined;
  const renew = (): Promise<Exchanged> => {
    pending ??= exchange(subjectToken, { server, ...limits })
      .then((exchanged) => (current = exchanged))
      .finally(() => (pending = undefined));
    return pending;
  };
  return {
    async read() {
      const known = current;
      if (known !== undefined && Date.now() < known.renewAt) return known.token;
      const isUsable = known !== undefined && Date.now() < known.expiresAt;
      const renewed = isUsable ? await renew().catch(() => known) : await renew();
      return renewed.token;
    },
    discard(token) {
      if (current?.token === token) current = undefined;
      return true;
    },
    owned: () => current?.token,
  };
}

async function exchange(
  subjectToken: SubjectToken,
  { server, ...limits }: HttpLimits & { readonly server: string },
): Promise<Exchanged> {
  const form = new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    subject_token: await subjectToken(),
  });
  const startedAt = Date.now();
  // A subject token counts once, so that a second request would be refused.
  const { body } = await sendRequest(
    {
      method: "POST",
      url: new URL("/api/secrets/tokens/exchange", server),
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: form.toString(),
      isRepeatable: false,
    },
    limits,
  );
  if (!isExchangedToken(body)) throw unexpected("it returned no token");
  const lifetime = body.expires_in * 1000;
  const renewAt = startedAt + lifetime * renewalShare;
  return { token: body.access_token, renewAt, expiresAt: startedAt + lifetime };
}

function isExchangedToken(body: unknown): body is ExchangedToken {
  return typeof fieldOf(body, "access_token") === "string" && typeof fieldOf(body, "expires_in") === "number";
}
