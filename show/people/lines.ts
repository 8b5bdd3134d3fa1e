/**
 * @module
 * The claims about Hearth as a person meets it: the command line, the chat in the terminal and the browser page.
 * Imported by `show/all-lines.ts`.
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
    paths: [`${terminal}/first-answer.test.ts`],
  },
  {
    title: "Typing, Ctrl-C, a resized window, a pipe and no terminal at all do what people expect",
    paths: [`${terminal}/terminal-flows.test.ts`, `${terminal}/chat-flows.test.ts`],
  },
  {
    title: "Every command's help, error and empty state can be read by somebody new",
    paths: [`${terminal}/every-word.test.ts`],
  },
  {
    title: "The page's flows work in Chromium on the real server and SmolLM2",
    paths: [`${page}/page-flows.test.ts`, `${page}/nothing-lost.test.ts`, `${page}/told-truly.test.ts`],
  },
  {
    title: "Every screen of the page has its picture, light and dark, narrow and wide, none blank or broken",
    paths: [`${page}/every-screen.test.ts`],
  },
  {
    title: "axe-core finds nothing on the page, and it works by keyboard alone",
    paths: [`${page}/every-screen.test.ts`, `${page}/keyboard.test.ts`],
  },
  {
    title: "hearth list on a running server takes at most 150 ms of our own time",
    paths: ["bench/command-start.test.ts"],
  },
  {
    title: "The page's first load is at most 200 kB, and streaming keeps it smooth",
    paths: [`${page}/budget.timed.test.ts`],
  },
  {
    title: "Completion, --json and exit codes are as documented",
    paths: [`${terminal}/completion-and-codes.test.ts`],
  },
  {
    title: "The quick start of the README works as it is written",
    paths: ["show/ground/quick-start.test.ts", "show/people/quick-start.test.ts"],
  },
];

export const peopleLines: readonly ShowLine[] = claimLines("people", claims, everything);
