/**
 * @module
 * The claims about Hearth's user interfaces: the command line, the chat in the terminal and the web UI.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages", "python", "test models"];
const terminal = "conformance/terminal";
const webUi = "apps/hearth-web/test";

/** Line numbers follow this order. */
const claims: readonly Claim[] = [
  {
    title:
      "Time from an empty folder to the first token, next to the same steps by hand with llama.cpp's own server",
    paths: [`${terminal}/time-to-first-token.model.test.ts`],
  },
  {
    title: "Typing, Ctrl-C, a resized window, a pipe and no terminal at all behave as users expect",
    paths: [`${terminal}/terminal-flows.model.test.ts`, `${terminal}/chat-flows.model.test.ts`],
  },
  {
    title: "Every command's help, errors and empty states are clear to a newcomer",
    paths: [`${terminal}/every-command.model.test.ts`],
  },
  {
    title: "The web UI's flows work in Chromium against the real server and SmolLM2",
    paths: [
      `${webUi}/user-flows.browser.test.ts`,
      `${webUi}/key-roles.browser.test.ts`,
      `${webUi}/persistence.browser.test.ts`,
      `${webUi}/ui-accuracy.browser.test.ts`,
    ],
  },
  {
    title:
      "Every screen of the web UI is captured in light and dark, narrow and wide, and none is blank or broken",
    paths: [`${webUi}/every-screen.browser.test.ts`],
  },
  {
    title: "axe-core finds no violations in the web UI, and it works with the keyboard alone",
    paths: [`${webUi}/every-screen.browser.test.ts`, `${webUi}/keyboard.browser.test.ts`],
  },
  {
    title: "hearth list on a running server takes at most 150 ms of our own time",
    paths: ["bench/command-start.bench.test.ts"],
  },
  {
    title: "The web UI's first load is at most 200 kB, and it stays smooth while streaming",
    paths: [`${webUi}/budget.bench.test.ts`],
  },
  {
    title: "Completion, --json and exit codes are as documented",
    paths: [`${terminal}/completion-and-codes.model.test.ts`],
  },
  {
    title: "The README's quick start works as written",
    paths: ["claims/ground/quick-start.browser.test.ts", "claims/people/quick-start.test.ts"],
  },
];

export const peopleLines: readonly ShowLine[] = claimLines("people", claims, everything);
