export type SignInPage = {
  readonly title: string;
  /** The form's target, relative to the page. */
  readonly action: string;
  readonly lines: readonly string[];
  /** Whether the page has an account field, or only the decision buttons. */
  readonly hasAccountField: boolean;
  readonly allowLabel: string;
  readonly denyLabel: string;
  readonly hidden?: Readonly<Record<string, string>>;
};

/** A form that works without scripts: fields `account` and `decision` ("allow" or "deny"). */
export function renderSignInPage(page: SignInPage): string {
  const title = escapeHtml(page.title);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title}</title>
<h1>${title}</h1>
${page.lines.map((line) => `<p>${escapeHtml(line)}</p>`).join("\n")}
<form method="post" action="${escapeHtml(page.action)}">
${Object.entries(page.hidden ?? {})
  .map(renderHiddenField)
  .join("\n")}
${page.hasAccountField ? '<label>Account <input name="account" autocomplete="username" required autofocus></label>' : ""}
<button name="decision" value="allow">${escapeHtml(page.allowLabel)}</button>
<button name="decision" value="deny" formnovalidate>${escapeHtml(page.denyLabel)}</button>
</form>
</html>
`;
}

/** The form's target and hidden fields, for a plain HTTP client. */
export function readSignInForm(html: string): { action: string; hidden: Record<string, string> } {
  const action = /<form method="post" action="([^"]*)">/.exec(html)?.[1];
  if (action === undefined) throw new Error(`Cannot find a sign-in form in the page\n${html}`);
  const fields = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  const hidden = [...fields].map(([, name = "", value = ""]) => [unescapeHtml(name), unescapeHtml(value)]);
  return { action: unescapeHtml(action), hidden: Object.fromEntries(hidden) };
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => entities.get(character) ?? character);
}

function renderHiddenField([name, value]: [string, string]): string {
  return `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`;
}

function unescapeHtml(text: string): string {
  return [...entities].reduceRight((rest, [character, entity]) => rest.replaceAll(entity, character), text);
}

// The ampersand is first: it is escaped before and unescaped after all others.
const entities: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
]);
