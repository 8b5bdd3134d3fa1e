import { createHash } from "node:crypto";
import { maxNameCharacters } from "./development-sign-in.ts";
import { keepIcon, providerIcons } from "./icons.ts";
import {
  type IdentityProvider,
  type IdentityProviders,
  listProviderOrigins,
  type ProviderKind,
} from "./identity-provider.ts";
import { styleSheet } from "./style-sheet.ts";

/** HTML without scripts, and the Content-Security-Policy that allows exactly what it uses. */
export type Page = { readonly html: string; readonly policy: string };

export type PageOptions = {
  readonly providers: IdentityProviders;
  readonly publicUrl: URL;
  readonly isDevelopment: boolean;
  /** File name of the console's style sheet, which these pages share; undefined when the console is not built. */
  readonly consoleStyle: string | undefined;
};

const kindLabels: Readonly<Record<ProviderKind, string>> = {
  "code-hosting": "code-hosting",
  general: "general-purpose",
};

export function renderSignInPage(returnTo: string, options: PageOptions): Page {
  const kinds: readonly ProviderKind[] = ["code-hosting", "general"];
  const query = returnTo === "/" ? "" : `?return_to=${encodeURIComponent(returnTo)}`;
  const forms = kinds.flatMap((kind) => {
    const provider = options.providers.get(kind);
    if (provider !== undefined) return [providerForm(provider, query)];
    return options.isDevelopment ? [] : [missingProvider(kind)];
  });
  const isClosed = options.providers.size === 0;
  const note = isClosed
    ? "Sign-in is not available yet. Ask the operator of this Keep to configure a provider. Tokens keep working."
    : "Your first sign-in creates an account with a personal vault. Each provider creates its own account unless you link them.";
  const body = `<h1>Sign in to Keep</h1>
${options.isDevelopment ? developmentNotice : ""}${forms.join("\n")}
<p class="muted small">${note}</p>`;
  return renderPage("Sign in", body, options);
}

export function renderSignedInPage(displayName: string, options: PageOptions): Page {
  const body = `<h1>Signed in</h1>
<p>You are signed in as <strong>${escapeHtml(displayName)}</strong>.</p>
${options.consoleStyle === undefined ? "" : '<p><a class="button primary" href="/">Open console</a></p>'}
<form method="post" action="/auth/logout"><button class="button">Sign out</button></form>
<p class="muted small">The API is at <code>${escapeHtml(`${options.publicUrl.origin}/api/secrets`)}</code>; see the <a href="/openapi.json">OpenAPI document</a>.</p>`;
  return renderPage("Signed in", body, options);
}

const developmentNotice = `<p class="notice warning" role="note"><span><strong>Development sign-in.</strong> Everyone who can open this page signs in under any name. Do not store real secrets here.</span></p>
`;

/** Stands in for a provider's page. `state` is the one of the sign-in that was started. */
export function renderDevelopmentPage(state: string, options: PageOptions): Page {
  const people = ["Alice", "Bob", "Carol"].map(
    (name) => `<form method="get" action="/auth/callback/general">
<input type="hidden" name="state" value="${escapeHtml(state)}"><input type="hidden" name="name" value="${name}">
<button class="button">${name}</button>
</form>`,
  );
  const body = `<h1>Sign in as</h1>
${developmentNotice}${people.join("\n")}
<form method="get" action="/auth/callback/general">
<input type="hidden" name="state" value="${escapeHtml(state)}">
<p class="field"><label for="name">Another name</label><input class="input" id="name" name="name" required maxlength="${maxNameCharacters}" autocomplete="off"></p>
<button class="button primary">Sign in</button>
</form>`;
  return renderPage("Sign in as", body, options);
}

/** Asks for the code with which the first operator is chosen. */
export function renderOperatorPage(
  { displayName, isRejected }: { readonly displayName: string; readonly isRejected: boolean },
  options: PageOptions,
): Page {
  const error = isRejected
    ? '<p class="notice error" role="alert">This code is not valid. It may have been used or have expired, or this Keep has an operator already. A restart of Keep prints a new one.</p>\n'
    : "";
  const body = `<h1>Become the operator</h1>
<p>You are signed in as <strong>${escapeHtml(displayName)}</strong>. Enter the code that Keep printed when it started.</p>
${error}<form method="post" action="/operator" enctype="multipart/form-data">
<p class="field"><label for="code">Code</label><input class="input" id="code" name="code" required maxlength="64" autocomplete="off" spellcheck="false"></p>
<button class="button primary">Become the operator</button>
</form>
<p class="muted small">Operators list, suspend and resume accounts. They read nothing that is in them.</p>`;
  return renderPage("Become the operator", body, options);
}

export function renderOperatorChosenPage(options: PageOptions): Page {
  const body = `<h1>You are an operator</h1>
<p>You can list, suspend and resume accounts. The code no longer works.</p>
<p><a class="button primary" href="${options.consoleStyle === undefined ? "/sign-in" : "/"}">Continue</a></p>`;
  return renderPage("You are an operator", body, options);
}

export type InvitationPage = {
  readonly name: string;
  readonly role: string;
  readonly code: string;
  /** Of the person who is signed in; undefined if nobody is. */
  readonly displayName: string | undefined;
};

/** Asks whether to join an organisation. */
export function renderInvitationPage(
  { name, role, code, displayName }: InvitationPage,
  options: PageOptions,
): Page {
  const kinds: readonly ProviderKind[] = ["code-hosting", "general"];
  const query = `?invitation=${encodeURIComponent(code)}`;
  const actions =
    displayName === undefined
      ? `<p>Sign in to accept.</p>
${options.isDevelopment ? developmentNotice : ""}${kinds
  .flatMap((kind) => options.providers.get(kind) ?? [])
  .map((provider) => providerForm(provider, query))
  .join("\n")}`
      : `<p>You are signed in as <strong>${escapeHtml(displayName)}</strong>.</p>
<form method="post" action="${escapeHtml(`/invitation/${code}`)}"><button class="button primary">Join</button></form>`;
  const body = `<h1>Join ${escapeHtml(name)}</h1>
<p>You are invited to the organisation <strong>${escapeHtml(name)}</strong> as ${role === "member" ? "a member" : `an ${escapeHtml(role)}`}.</p>
${actions}`;
  return renderPage("Invitation", body, options);
}

export function renderInvalidInvitationPage(options: PageOptions): Page {
  const body = `<h1>Invitation not valid</h1>
<p>It may have been accepted or revoked, have expired, or be for another person. Ask for a new one.</p>
<p><a class="button primary" href="${options.consoleStyle === undefined ? "/sign-in" : "/"}">Continue</a></p>`;
  return renderPage("Invitation not valid", body, options);
}

export function renderNotFoundPage(options: PageOptions): Page {
  const body = `<h1>Page not found</h1>
<p>Check the address, or continue to Keep.</p>
<p><a class="button primary" href="${options.consoleStyle === undefined ? "/sign-in" : "/"}">Continue</a></p>`;
  return renderPage("Page not found", body, options);
}

export type FailedSignIn = {
  readonly message: string;
  /** True when linking or confirming an identity failed, which leaves the session as it was. */
  readonly isSignedIn: boolean;
};

export function renderFailurePage({ message, isSignedIn }: FailedSignIn, options: PageOptions): Page {
  const backLink =
    isSignedIn && options.consoleStyle !== undefined
      ? '<a class="button primary" href="/account">Back to account</a>'
      : '<a class="button primary" href="/sign-in">Back to sign-in</a>';
  const title = isSignedIn ? "Something went wrong" : "Sign-in failed";
  const body = `<h1>${title}</h1>
<p class="notice error" role="alert">${escapeHtml(message)}</p>
<p>${backLink}</p>`;
  return renderPage(title, body, options);
}

/** What follows the sign-in is in the form's URL; the server checks it again on submission. */
function providerForm({ kind, name }: IdentityProvider, query: string): string {
  return `<form method="post" action="${escapeHtml(`/auth/login/${kind}${query}`)}"><button class="button">${providerIcons[kind]}<span>Continue with ${escapeHtml(name)}</span></button></form>`;
}

function missingProvider(kind: ProviderKind): string {
  return `<p class="muted small">No ${kindLabels[kind]} provider is configured.</p>`;
}

/** `formTarget` is a further origin to which a form of the page may lead. */
export function renderPage(
  title: string,
  body: string,
  { providers, consoleStyle, formTarget }: PageOptions & { readonly formTarget?: string },
): Page {
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
<p class="sign-in-brand">${keepIcon}Keep</p>
${body}
</main>
</body>
</html>
`;
  const styleSource = consoleStyle === undefined ? styleHash : "'self'";
  const formTargets = [...listProviderOrigins(providers), ...(formTarget === undefined ? [] : [formTarget])];
  return { html, policy: contentSecurityPolicy(formTargets, styleSource) };
}

const styleHash = `'sha256-${createHash("sha256").update(styleSheet).digest("base64")}'`;

/** `form-action` names all targets, because browsers apply it to every redirect after the form is submitted. */
function contentSecurityPolicy(formTargets: readonly string[], styleSource: string): string {
  return [
    "default-src 'none'",
    `style-src ${styleSource}`,
    "connect-src 'self'",
    "base-uri 'none'",
    `form-action ${["'self'", ...formTargets].join(" ")}`,
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

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/gu, (character) => entities[character] ?? "");
}
