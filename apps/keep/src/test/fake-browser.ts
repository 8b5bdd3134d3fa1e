import type { Account, Session, SessionList } from "@hearth-and-keep/vault-contract";
import type { TestKeep } from "./start-test-keep.ts";

/** A browser at Keep's own pages without the browser: it keeps cookies and says where its requests come from. */
export type KeepVisitor = {
  /** Name and value of every cookie that Keep has set. */
  readonly cookies: Map<string, string>;
  ask(path: string, asked?: VisitorRequest): Promise<Response>;
  /** Presses the button of a provider; gives where Keep sends the browser. */
  leave(provider: string, returnTo?: string): Promise<URL>;
  /** Follows the provider's way back. */
  comeBack(callback: URL): Promise<Response>;
  isSignedIn(): Promise<boolean>;
  session(): Promise<Session>;
  account(): Promise<Account>;
  sessions(): Promise<SessionList["items"]>;
};

type VisitorRequest = {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Otherwise what the cookies say. */
  readonly cookie?: string;
};

export function visitKeep({ url }: Pick<TestKeep, "url">): KeepVisitor {
  const cookies = new Map<string, string>();
  const visitor: KeepVisitor = {
    cookies,
    async ask(path, { method = "GET", body, headers = {}, cookie = writeCookies(cookies) } = {}) {
      const response = await fetch(new URL(path, url), {
        method,
        redirect: "manual",
        headers: {
          accept: "text/html,application/json",
          "sec-fetch-site": "same-origin",
          "user-agent": "visitor",
          ...(cookie === "" ? {} : { cookie }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      for (const line of response.headers.getSetCookie()) keepCookie(cookies, line);
      return response;
    },
    async leave(provider, returnTo) {
      const query = returnTo === undefined ? "" : `?return_to=${encodeURIComponent(returnTo)}`;
      const response = await visitor.ask(`/auth/login/${provider}${query}`, { method: "POST" });
      const location = response.headers.get("location");
      if (location === null) throw new Error(`Keep answered ${response.status}: ${await response.text()}`);
      return new URL(location);
    },
    comeBack: (callback) =>
      visitor.ask(callback.pathname + callback.search, { headers: { "sec-fetch-site": "cross-site" } }),
    isSignedIn: async () => (await visitor.ask("/api/session")).status === 200,
    session: async () => readAs<Session>(await visitor.ask("/api/session")),
    account: async () => readAs<Account>(await visitor.ask("/api/account")),
    sessions: async () => (await readAs<SessionList>(await visitor.ask("/api/account/sessions"))).items,
  };
  return visitor;
}

/** Throws when Keep did not answer with it. */
export async function readAs<Body>(response: Response): Promise<Body> {
  if (!response.ok) throw new Error(`Keep answered ${response.status}: ${await response.text()}`);
  // The contract says so, and the server's answers are checked against it elsewhere.
  return (await response.json()) as Body;
}

function keepCookie(cookies: Map<string, string>, line: string): void {
  const [pair = ""] = line.split(";");
  const [name = "", value = ""] = pair.split("=");
  if (/max-age=0(?:;|$)/iu.test(line)) cookies.delete(name);
  else cookies.set(name, value);
}

function writeCookies(cookies: ReadonlyMap<string, string>): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
}
