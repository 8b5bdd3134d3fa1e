/**
 * @module
 * Identity providers for tests, on loopback: `general/` is an OpenID Connect provider like Google's, `code-hosting/` an
 * OAuth 2 server like GitHub's, and `hostile/` forges responses on request. This folder contains their shared code: the
 * sign-in page for a browser, and a client that signs in without one.
 * Providers close every connection when their scope ends. Imported through the package's index.
 */
import { createCookieJar } from "./cookie-jar.ts";
import { readSignInForm } from "./sign-in-page.ts";

export type SignInInput = {
  /** The text typed into the account field of the provider's page. */
  readonly account: string;
  readonly decision?: "allow" | "deny";
};

const maxSteps = 20;

/**
 * Follows a provider's pages as a browser would, from the authorization URL to the application's callback.
 * Returns the callback URL without visiting it.
 */
export async function walkSignIn(authorizationUrl: URL | string, input: SignInInput): Promise<URL> {
  const jar = createCookieJar();
  let visit: Visit = { url: new URL(authorizationUrl) };
  const { origin } = visit.url;
  for (let step = 0; step < maxSteps; step += 1) {
    const response = await fetch(visit.url, {
      redirect: "manual",
      headers: { cookie: jar.headerFor(visit.url), "user-agent": "sign-in-walk" },
      ...(visit.form === undefined ? {} : { method: "POST", body: visit.form }),
    });
    jar.store(response.headers.getSetCookie());
    const page = await response.text();
    const location = response.headers.get("location");
    if (location === null && !response.ok) {
      throw new Error(
        `Cannot sign in as "${input.account}": ${visit.url.pathname} responded with ${response.status}\n${page}`,
      );
    }
    visit =
      location === null ? fillIn(page, { url: visit.url, input }) : { url: new URL(location, visit.url) };
    if (visit.url.origin !== origin) return visit.url;
  }
  throw new Error(
    `Cannot sign in as "${input.account}": still on the provider's pages after ${maxSteps} steps`,
  );
}

type Visit = { readonly url: URL; readonly form?: URLSearchParams };

function fillIn(page: string, { url, input }: { url: URL; input: SignInInput }): Visit {
  const { action, hidden } = readSignInForm(page);
  const { account, decision = "allow" } = input;
  return { url: new URL(action, url), form: new URLSearchParams({ ...hidden, account, decision }) };
}
