import { createHash } from "node:crypto";
import { keepMark, providerMarks } from "./icons.ts";
import {
  type IdentityProvider,
  type IdentityProviders,
  originsOf,
  type ProviderKind,
} from "./identity-provider.ts";
import { styleSheet } from "./style-sheet.ts";

/** A page without scripts, and the policy that lets it be what it is and nothing else. */
export type Page = { readonly html: string; readonly policy: string };

export type PageParts = {
  readonly providers: IdentityProviders;
  readonly publicUrl: URL;
  /** The name of the console's style, which these pages share; undefined when the console was not built. */
  readonly consoleStyle: string | undefined;
};

const providerWords: Readonly<Record<ProviderKind, string>> = {
  "code-hosting": "code-hosting",
  general: "general-purpose",
};

export function signInPage(returnTo: string, parts: PageParts): Page {
  const kinds: readonly ProviderKind[] = ["code-hosting", "general"];
  const forms = kinds.map((kind) => {
    const provider = parts.providers.get(kind);
    return provider === undefined ? missingProvider(kind) : providerForm(provider, returnTo);
  });
  const isClosed = parts.providers.size === 0;
  const note = isClosed
    ? "Nobody can sign in yet. Ask whoever runs this Keep to set up a provider; programs with a token go on working."
    : "The first sign-in makes an account with a personal vault. Two providers are two accounts until you link them.";
  const body = `<h1>Sign in to Keep</h1>
${forms.join("\n")}
<p class="quiet small">${note}</p>`;
  return wrap("Sign in", body, parts);
}

export function signedInPage(displayName: string, parts: PageParts): Page {
  const body = `<h1>Signed in</h1>
<p>You are <strong>${escapeHtml(displayName)}</strong>.</p>
${parts.consoleStyle === undefined ? "" : '<p><a class="button main" href="/">Go to the console</a></p>'}
<form method="post" action="/auth/logout"><button class="button">Sign out</button></form>
<p class="quiet small">Programs reach Keep at <code>${escapeHtml(`${parts.publicUrl.origin}/api/secrets`)}</code> with a token; what they can ask for is in <a href="/openapi.json">the API’s document</a>.</p>`;
  return wrap("Signed in", body, parts);
}

export type FailedSignIn = {
  /** Why, in plain words. */
  readonly problem: string;
  /** Whoever is signed in all the same was linking or confirming an identity. */
  readonly isSignedIn: boolean;
};

/** When something went wrong that signing in again may or may not mend. */
export function failurePage({ problem, isSignedIn }: FailedSignIn, parts: PageParts): Page {
  const wayBack =
    isSignedIn && parts.consoleStyle !== undefined
      ? '<a class="button main" href="/account">Back to your account</a>'
      : '<a class="button main" href="/sign-in">Back to the sign-in page</a>';
  const body = `<h1>That did not work</h1>
<p class="notice bad" role="alert">${escapeHtml(problem)}</p>
<p>${wayBack}</p>`;
  return wrap("Not signed in", body, parts);
}

/** The form has no field: where to go afterwards is in its address, which is checked again when it arrives. */
function providerForm({ kind, name }: IdentityProvider, returnTo: string): string {
  const query = returnTo === "/" ? "" : `?return_to=${encodeURIComponent(returnTo)}`;
  return `<form method="post" action="${escapeHtml(`/auth/login/${kind}${query}`)}"><button class="button">${providerMarks[kind]}<span>Continue with ${escapeHtml(name)}</span></button></form>`;
}

function missingProvider(kind: ProviderKind): string {
  return `<p class="quiet small">No ${providerWords[kind]} provider is set up here.</p>`;
}

function wrap(title: string, body: string, { providers, consoleStyle }: PageParts): Page {
  const style =
    consoleStyle === undefined
      ? `<style>${styleSheet}</style>`
      : `<link rel="stylesheet" href="/console/${escapeHtml(consoleStyle)}">`;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · Keep</title>
${style}
</head>
<body class="sign-in">
<main class="card">
<p class="sign-in-name">${keepMark}Keep</p>
${body}
</main>
</body>
</html>
`;
  return { html, policy: policyFor(providers, consoleStyle === undefined ? styleHash : "'self'") };
}

const styleHash = `'sha256-${createHash("sha256").update(styleSheet).digest("base64")}'`;

/** Browsers hold a form's target to it along every redirect, so the providers are named. */
function policyFor(providers: IdentityProviders, styleSource: string): string {
  return [
    "default-src 'none'",
    `style-src ${styleSource}`,
    "connect-src 'self'",
    "base-uri 'none'",
    `form-action ${["'self'", ...originsOf(providers)].join(" ")}`,
    "frame-ancestors 'none'",
  ].join("; ");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/gu, (character) => entities[character] ?? "");
}
