import type { Page } from "playwright-core";

export type Watched = {
  /** What went wrong since it was last asked, each in one line. */
  readonly takeTroubles: () => readonly string[];
};

export type WatchRules = {
  /** The server's; whatever else is asked for is a trouble. */
  readonly origin: string;
  /** Of the browser itself, when an answer is a refusal or does not come: a state may be about just that. */
  readonly allowsRefusals?: () => boolean;
};

const refusal =
  /^Failed to load resource: (?:the server responded with a status of (?:4\d\d|50\d)|net::ERR_FAILED)/u;
const ownProtocols = ["data:", "blob:", "about:"];

/** Notices whatever a page must never do: errors, dialogs, breaches of its policy, requests to somebody else. */
export async function watchPage(page: Page, { origin, allowsRefusals }: WatchRules): Promise<Watched> {
  let troubles: string[] = [];
  page.on("console", (line) => {
    const isExpected = refusal.test(line.text()) && allowsRefusals?.() === true;
    if (line.type() === "error" && !isExpected) troubles.push(`console: ${line.text()}`);
  });
  page.on("pageerror", (problem) => troubles.push(`page error: ${problem.message}`));
  page.on("dialog", (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  // Also those of a window that the page opened.
  page.context().on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !ownProtocols.includes(url.protocol))
      troubles.push(`request to ${url.origin}`);
  });
  await page.addInitScript(`document.addEventListener("securitypolicyviolation", (breach) => {
    window.reportError(new Error("breach of " + breach.violatedDirective + " " + breach.sourceFile));
  })`);
  return {
    takeTroubles: () => {
      const taken = troubles;
      troubles = [];
      return taken;
    },
  };
}
