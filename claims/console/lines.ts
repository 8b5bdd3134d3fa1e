/**
 * @module
 * The claims about Keep's console: every flow and screen in a real browser, accessibility, safety against injected
 * markup, no traces of revealed secrets, download size and speed.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages"];
const tests = "apps/keep-console/test";

/** Line numbers follow this order. */
const claims: readonly Claim[] = [
  {
    title: "Every flow works in Chromium against the real Keep, PostgreSQL and both providers",
    paths: [
      `${tests}/account.browser.test.ts`,
      `${tests}/secrets.browser.test.ts`,
      `${tests}/tokens.browser.test.ts`,
      `${tests}/audit.browser.test.ts`,
      `${tests}/first-steps.browser.test.ts`,
    ],
  },
  {
    title:
      "Every screen and state is captured in light and dark, narrow and wide, and none is blank or broken",
    paths: [`${tests}/every-screen.browser.test.ts`],
  },
  {
    title: "axe-core finds no violations on any screen, and every flow works with the keyboard alone",
    paths: [`${tests}/every-screen.browser.test.ts`, `${tests}/keyboard.browser.test.ts`],
  },
  {
    title:
      "200 hostile strings in every name, tag, note and provider field are displayed verbatim and never executed",
    paths: [`${tests}/hostile-strings.browser.test.ts`],
  },
  {
    title: "No secret is in a URL, in browser storage, or on the page 30 seconds after it was revealed",
    paths: [`${tests}/no-trace.browser.test.ts`],
  },
  {
    title: "The first screen loads at most 150 kB of compressed JavaScript",
    paths: [`${tests}/budget.browser.test.ts`],
  },
  {
    title: "A vault with 10,000 secrets renders within a second, scrolls smoothly and searches instantly",
    paths: [`${tests}/large-vault.bench.test.ts`],
  },
  {
    title: "A new user's program reads a secret within two minutes of sign-in",
    paths: [`${tests}/first-steps.browser.test.ts`],
  },
];

export const consoleLines: readonly ShowLine[] = claimLines("console", claims, everything);
