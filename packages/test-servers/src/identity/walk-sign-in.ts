/**
 * @module
 * Identity providers for tests, on loopback: `general/` is an OpenID Connect provider as Google runs one,
 * `code-hosting/` an OAuth 2 server as GitHub runs one, `hostile/` forges whatever a test names. This folder holds
 * what they share: the server, the sign-in page a browser can use, and the walk that uses it without a browser.
 * Providers promise to cut every connection when their scope ends. Entered through the package's index.
 */
import { createCookieJar } from "./cookie-jar.ts";
import { readSignInForm } from "./sign-in-page.ts";

export type SignInAnswer = {
  /** As the person types it into the provider's page. */
  readonly account: string;
  readonly decision?: "allow" | "deny";
};

const mostSteps = 20;

/**
 * Goes through a provider's pages as a browser would, from the authorization URL to the application's callback.
 * Gives that callback URL, which it does not visit.
 */
export async function walkSignIn(authorizationUrl: URL | string, answer: SignInAnswer): Promise<URL> {
  const jar = createCookieJar();
  let visit: Visit = { url: new URL(authorizationUrl) };
  const { origin } = visit.url;
  for (let step = 0; step < mostSteps; step += 1) {
    const response = await fetch(visit.url, {
      redirect: "manual",
      headers: { cookie: jar.headerFor(visit.url), "user-agent": "sign-in-walk" },
      ...(visit.form === undefined ? {} : { method: "POST", body: visit.form }),
    });
    jar.keep(response.headers.getSetCookie());
    const page = await response.text();
    const location = response.headers.get("location");
    if (location === null && !response.ok) {
      throw new Error(
        `Cannot sign in as "${answer.account}": ${visit.url.pathname} answered ${response.status}\n${page}`,
      );
    }
    visit =
      location === null ? fillIn(page, { url: visit.url, answer }) : { url: new URL(location, visit.url) };
    if (visit.url.origin !== origin) return visit.url;
  }
  throw new Error(`Cannot sign in as "${answer.account}": still at the provider after ${mostSteps} pages`);
}

type Visit = { readonly url: URL; readonly form?: URLSearchParams };

function fillIn(page: string, { url, answer }: { url: URL; answer: SignInAnswer }): Visit {
  const { action, hidden } = readSignInForm(page);
  const { account, decision = "allow" } = answer;
  return { url: new URL(action, url), form: new URLSearchParams({ ...hidden, account, decision }) };
}
