import type { Page } from "playwright-core";
import type { PageStage } from "../page-stage.ts";
import { watchPage } from "../watched-page.ts";
import { chatStates } from "./chat-states.ts";
import { placeStates } from "./place-states.ts";
import type { ScreenState } from "./scene.ts";

export const everyState: readonly ScreenState[] = [...chatStates, ...placeStates];

export const variants = [
  { width: 1440, height: 900, colorScheme: "light" },
  { width: 1440, height: 900, colorScheme: "dark" },
  { width: 360, height: 740, colorScheme: "light" },
  { width: 360, height: 740, colorScheme: "dark" },
] as const;

export type Variant = (typeof variants)[number];

export type Visit = { readonly page: Page; readonly state: ScreenState; readonly variant: Variant };

export type Walk = {
  readonly stage: PageStage;
  readonly seen: readonly Variant[];
  /** Says what is wrong with what it sees. */
  readonly look: (visit: Visit) => Promise<readonly string[]>;
};

/** Goes to every state as a new visitor and looks at it in every variant; gives all that was wrong anywhere. */
export async function walkScreens({ stage, seen, look }: Walk): Promise<readonly string[]> {
  const troubles: string[] = [];
  for (const state of everyState) {
    const [first] = variants;
    const page = await stage.browser.openPage("about:blank", { viewport: first, reducedMotion: "reduce" });
    page.setDefaultTimeout(20_000);
    const watched = await watchPage(page, {
      origin: stage.url,
      allowsRefusals: () => state.isRefused === true,
    });
    try {
      await state.reach(page, stage.url);
      for (const variant of seen) {
        await page.setViewportSize(variant);
        await page.emulateMedia({ colorScheme: variant.colorScheme });
        const name = `${state.name} ${variant.width} ${variant.colorScheme}`;
        troubles.push(...(await look({ page, state, variant })).map((trouble) => `${name}: ${trouble}`));
      }
    } catch (problem) {
      troubles.push(`${state.name} cannot be reached: ${String(problem)}`);
    }
    troubles.push(...watched.takeTroubles().map((trouble) => `${state.name}: ${trouble}`));
    await page.context().close();
  }
  return troubles;
}
