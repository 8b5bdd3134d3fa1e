import type { Page } from "playwright-core";

export type Watched = {
  /** Returns the problems since the last call, one line each. */
  readonly takeProblems: () => readonly string[];
};

export type WatchRules = {
  /** The server's origin; requests to any other origin are problems. */
  readonly origin: string;
  /** Whether to ignore the browser's own errors about failed requests, for a state that expects one. */
  readonly allowsRefusals?: () => boolean;
};

const failedRequest =
  /^Failed to load resource: (?:the server responded with a status of (?:4\d\d|50\d)|net::ERR_FAILED)/u;
const ownProtocols = ["data:", "blob:", "about:"];

/** Records what a page must never do: errors, dialogs, CSP violations, requests to other origins. */
export async function watchPage(page: Page, { origin, allowsRefusals }: WatchRules): Promise<Watched> {
  let problems: string[] = [];
  page.on("console", (line) => {
    const isExpected = failedRequest.test(line.text()) && allowsRefusals?.() === true;
    if (line.type() === "error" && !isExpected) problems.push(`console: ${line.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`page error: ${error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  // Includes requests of windows that the page opened.
  page.context().on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !ownProtocols.includes(url.protocol))
      problems.push(`request to ${url.origin}`);
  });
  await page.addInitScript(`document.addEventListener("securitypolicyviolation", (violation) => {
    window.reportError(new Error("violation of " + violation.violatedDirective + " " + violation.sourceFile));
  })`);
  return {
    takeProblems: () => {
      const taken = problems;
      problems = [];
      return taken;
    },
  };
}
