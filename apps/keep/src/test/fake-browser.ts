import type { Account, Session, SessionList } from "@hearth-and-keep/vault-contract";
import type { TestKeep } from "./start-test-keep.ts";

/** A fetch-based stand-in for a browser: stores cookies and sends Fetch Metadata headers. */
export type FakeBrowser = {
  /** Values of Keep's cookies by name. */
  readonly cookies: Map<string, string>;
  request(path: string, options?: FakeBrowserRequest): Promise<Response>;
  /** Submits a provider's sign-in form; returns the URL that Keep redirects to. */
  startSignIn(provider: string, returnTo?: string): Promise<URL>;
  /** Follows the provider's redirect back to Keep. */
  followCallback(callback: URL): Promise<Response>;
  isSignedIn(): Promise<boolean>;
  session(): Promise<Session>;
  account(): Promise<Account>;
  sessions(): Promise<SessionList["items"]>;
};

type FakeBrowserRequest = {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Defaults to the stored cookies. */
  readonly cookie?: string;
};

export function createFakeBrowser({ url }: Pick<TestKeep, "url">): FakeBrowser {
  const cookies = new Map<string, string>();
  const browser: FakeBrowser = {
    cookies,
    async request(path, { method = "GET", body, headers = {}, cookie = writeCookies(cookies) } = {}) {
      const response = await fetch(new URL(path, url), {
        method,
        redirect: "manual",
        headers: {
          accept: "text/html,application/json",
          "sec-fetch-site": "same-origin",
          "user-agent": "fake browser",
          ...(cookie === "" ? {} : { cookie }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      for (const line of response.headers.getSetCookie()) storeCookie(cookies, line);
      return response;
    },
    async startSignIn(provider, returnTo) {
      const query = returnTo === undefined ? "" : `?return_to=${encodeURIComponent(returnTo)}`;
      const response = await browser.request(`/auth/login/${provider}${query}`, { method: "POST" });
      const location = response.headers.get("location");
      if (location === null) throw new Error(`Keep returned ${response.status}: ${await response.text()}`);
      return new URL(location);
    },
    followCallback: (callback) =>
      browser.request(callback.pathname + callback.search, { headers: { "sec-fetch-site": "cross-site" } }),
    isSignedIn: async () => (await browser.request("/api/session")).status === 200,
    session: async () => readAs<Session>(await browser.request("/api/session")),
    account: async () => readAs<Account>(await browser.request("/api/account")),
    sessions: async () => (await readAs<SessionList>(await browser.request("/api/account/sessions"))).items,
  };
  return browser;
}

/** Throws for error responses. */
export async function readAs<Body>(response: Response): Promise<Body> {
  if (!response.ok) throw new Error(`Keep returned ${response.status}: ${await response.text()}`);
  // The contract's type; other tests validate responses against its schema.
  return (await response.json()) as Body;
}

function storeCookie(cookies: Map<string, string>, line: string): void {
  const [pair = ""] = line.split(";");
  const [name = "", value = ""] = pair.split("=");
  if (/max-age=0(?:;|$)/iu.test(line)) cookies.delete(name);
  else cookies.set(name, value);
}

function writeCookies(cookies: ReadonlyMap<string, string>): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
}
