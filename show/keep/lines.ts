/**
 * @module
 * The claims about Keep's server: who gets in, who may what, what the database shows to whoever steals it, what is left
 * after any crash, and what it costs.
 * Imported by `show/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages", "python"];
const keep = "apps/keep/src";

/** In the order of their lines. */
const claims: readonly Claim[] = [
  {
    title:
      "People sign in with both providers in a browser, mint a token once shown, and list their vaults with it",
    paths: [`${keep}/sign-in/in-a-browser.test.ts`],
  },
];

export const keepLines: readonly ShowLine[] = claimLines("keep", claims, everything);
