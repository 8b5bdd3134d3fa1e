import type { Page } from "playwright-core";

export type Watched = {
  /** What went wrong since it was last asked, each in one line. */
  readonly takeTroubles: () => readonly string[];
};

const refusal = /^Failed to load resource: /u;

/** Notices whatever the page must never do: errors, dialogs, breaches of its policy, requests to somebody else. */
export async function watchPage(
  page: Page,
  {
    origin,
    allowsRefusals = () => false,
  }: { readonly origin: string; readonly allowsRefusals?: () => boolean },
): Promise<Watched> {
  let troubles: string[] = [];
  page.on("console", (line) => {
    const isExpected = refusal.test(line.text()) && allowsRefusals();
    if (line.type() === "error" && !isExpected) troubles.push(`console: ${line.text()}`);
  });
  page.on("pageerror", (problem) => troubles.push(`page error: ${problem.message}`));
  page.on("dialog", (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.context().on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !["data:", "blob:", "about:"].includes(url.protocol))
      troubles.push(`request to ${url.origin}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, sourceFile }) => {
      window.reportError(new Error(`breach of ${violatedDirective} ${sourceFile}`));
    });
  });
  return {
    takeTroubles: () => {
      const taken = troubles;
      troubles = [];
      return taken;
    },
  };
}
