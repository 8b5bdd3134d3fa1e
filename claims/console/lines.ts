/**
 * @module
 * The claims about Keep's console: every flow in a real browser, every screen looked at, usable without a mouse or
 * without eyes, inert to whatever anybody typed, silent about what it showed, small and quick.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages"];
const tests = "apps/keep-console/test";

/** In the order of their lines. */
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
    title: "Every screen and state has its picture, light and dark, narrow and wide, none blank or broken",
    paths: [`${tests}/every-screen.browser.test.ts`],
  },
  {
    title: "axe-core finds nothing on any screen, and every flow works by keyboard alone",
    paths: [`${tests}/every-screen.browser.test.ts`, `${tests}/keyboard.browser.test.ts`],
  },
  {
    title: "200 hostile strings in every name, tag, note and provider field are shown as typed and inert",
    paths: [`${tests}/hostile-strings.browser.test.ts`],
  },
  {
    title: "No secret is in an address, in storage, or on the page 30 seconds after it was revealed",
    paths: [`${tests}/no-trace.browser.test.ts`],
  },
  {
    title: "The first screen needs at most 150 kB of compressed scripts",
    paths: [`${tests}/budget.browser.test.ts`],
  },
  {
    title: "10,000 secrets in one vault are painted within a second, scroll smoothly and are found at once",
    paths: [`${tests}/large-vault.bench.test.ts`],
  },
  {
    title: "A new person's program reads a secret within two minutes of the sign-in",
    paths: [`${tests}/first-steps.browser.test.ts`],
  },
];

export const consoleLines: readonly ShowLine[] = claimLines("console", claims, everything);
