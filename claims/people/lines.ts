/**
 * @module
 * The claims about Hearth as a person meets it: the command line, the chat in the terminal and the browser page.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages", "python", "test models"];
const terminal = "conformance/terminal";
const page = "apps/hearth-web/test";

/** In the order of their lines. */
const claims: readonly Claim[] = [
  {
    title:
      "From an empty folder to the first token, beside the same steps by hand with llama.cpp's own server",
    paths: [`${terminal}/time-to-first-token.model.test.ts`],
  },
  {
    title: "Typing, Ctrl-C, a resized window, a pipe and no terminal at all do what people expect",
    paths: [`${terminal}/terminal-flows.model.test.ts`, `${terminal}/chat-flows.model.test.ts`],
  },
  {
    title: "Every command's help, error and empty state can be read by somebody new",
    paths: [`${terminal}/every-command.model.test.ts`],
  },
  {
    title: "The page's flows work in Chromium on the real server and SmolLM2",
    paths: [
      `${page}/user-flows.browser.test.ts`,
      `${page}/persistence.browser.test.ts`,
      `${page}/ui-accuracy.browser.test.ts`,
    ],
  },
  {
    title: "Every screen of the page has its picture, light and dark, narrow and wide, none blank or broken",
    paths: [`${page}/every-screen.browser.test.ts`],
  },
  {
    title: "axe-core finds nothing on the page, and it works by keyboard alone",
    paths: [`${page}/every-screen.browser.test.ts`, `${page}/keyboard.browser.test.ts`],
  },
  {
    title: "hearth list on a running server takes at most 150 ms of our own time",
    paths: ["bench/command-start.bench.test.ts"],
  },
  {
    title: "The page's first load is at most 200 kB, and streaming keeps it smooth",
    paths: [`${page}/budget.bench.test.ts`],
  },
  {
    title: "Completion, --json and exit codes are as documented",
    paths: [`${terminal}/completion-and-codes.model.test.ts`],
  },
  {
    title: "The quick start of the README works as it is written",
    paths: ["claims/ground/quick-start.browser.test.ts", "claims/people/quick-start.test.ts"],
  },
];

export const peopleLines: readonly ShowLine[] = claimLines("people", claims, everything);
