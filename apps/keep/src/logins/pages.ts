import type { LoginPermission } from "@hearth-and-keep/vault-contract";
import { providerIcons } from "../sign-in/icons.ts";
import { escapeHtml, type Page, type PageOptions, renderPage } from "../sign-in/pages.ts";

/** An account in which the person may create the token. */
type AccountChoice = { readonly id: string; readonly name: string };

export type ApprovalPage = {
  readonly machine: string;
  readonly address: string;
  readonly permission: LoginPermission;
  /** Of the device; undefined for a redirect. */
  readonly userCode: string | undefined;
  readonly displayName: string;
  /** The person's own account first. */
  readonly accounts: readonly AccountChoice[];
  /** Whether the sign-in is recent enough to approve. */
  readonly isFresh: boolean;
  /** The page's own path and query. */
  readonly path: string;
  /** Path that the form is submitted to. */
  readonly action: string;
  /** Hidden fields of the form. */
  readonly fields: Readonly<Record<string, string>>;
  /** Origin to which the browser is redirected afterwards. */
  readonly formTarget?: string;
};

const permissionTexts: Readonly<Record<LoginPermission, string>> = {
  read: "List and read secrets",
  write: "List, read and write secrets",
};

/** Asks whether a command line may have a token. */
export function renderApprovalPage(content: ApprovalPage, options: PageOptions): Page {
  const { machine, address, permission, userCode, displayName, formTarget } = content;
  const origin =
    userCode === undefined
      ? `<dt>Runs on</dt><dd>The same computer as this browser</dd>`
      : `<dt>Address</dt><dd><code>${escapeHtml(address)}</code></dd>`;
  const comparison =
    userCode === undefined
      ? `<p>Approve only if you have just run <code>keep login</code> yourself.</p>`
      : `<p>Is this the code that your terminal shows?</p>
<p class="login-code"><code>${escapeHtml(userCode)}</code></p>
<p>If you did not run <code>keep login --device</code> yourself, or somebody sent you this code, deny it.</p>`;
  const body = `<h1>Allow access from the command line?</h1>
<p>You are signed in as <strong>${escapeHtml(displayName)}</strong>.</p>
<dl class="login-facts">
<dt>Machine</dt><dd><code>${escapeHtml(machine)}</code></dd>
${origin}
<dt>Permissions</dt><dd>${permissionTexts[permission]} in all vaults of the account, as far as you may</dd>
<dt>Expires</dt><dd>After 30 days, or when you revoke it</dd>
</dl>
${comparison}
${content.isFresh ? decisionForm(content) : confirmationForms(content, options)}`;
  return renderPage("Command line access", body, {
    ...options,
    ...(formTarget === undefined ? {} : { formTarget }),
  });
}

function decisionForm({ action, fields, accounts }: ApprovalPage): string {
  const hidden = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`,
  );
  const choices = accounts.map(
    ({ id, name }) => `<option value="${escapeHtml(id)}">${escapeHtml(name)}</option>`,
  );
  return `<form method="post" action="${action}">
${hidden.join("")}
<p class="field"><label for="account">Account</label><select class="input" id="account" name="account">${choices.join("")}</select></p>
<p class="login-decision"><button class="button primary" name="decision" value="approve">Approve</button><button class="button" name="decision" value="deny">Deny</button></p>
</form>`;
}

function confirmationForms({ path }: ApprovalPage, { providers }: PageOptions): string {
  const query = `?return_to=${encodeURIComponent(path)}`;
  const forms = [...providers.values()].map(
    ({ kind, name }) =>
      `<form method="post" action="${escapeHtml(`/auth/confirm/${kind}${query}`)}"><button class="button">${providerIcons[kind]}<span>Continue with ${escapeHtml(name)}</span></button></form>`,
  );
  return `<p class="notice warning" role="note">You signed in more than 15 minutes ago. Sign in again to approve.</p>
${forms.join("\n")}`;
}

/** Asks for the code that a terminal shows. */
export function renderUserCodePage(isRejected: boolean, options: PageOptions): Page {
  const error = isRejected
    ? '<p class="notice error" role="alert">This code is not valid. It may have been used or have expired. Run keep login --device again.</p>\n'
    : "";
  const body = `<h1>Connect a terminal</h1>
<p>Enter the code that <code>keep login --device</code> shows.</p>
${error}<form method="get" action="/login/device">
<p class="field"><label for="user_code">Code</label><input class="input" id="user_code" name="user_code" required maxlength="32" pattern="[A-Za-z \\-]+" autocomplete="off" autocapitalize="characters" spellcheck="false"></p>
<button class="button primary">Continue</button>
</form>`;
  return renderPage("Connect a terminal", body, options);
}

export function renderDecidedPage(isApproved: boolean, options: PageOptions): Page {
  const body = isApproved
    ? `<h1>Terminal connected</h1>
<p>Return to your terminal. You can revoke its token under Tokens at any time.</p>`
    : `<h1>Access denied</h1>
<p>The terminal got no token.</p>`;
  return renderPage(isApproved ? "Terminal connected" : "Access denied", body, options);
}
