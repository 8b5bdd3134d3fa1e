import type { Page } from "playwright-core";
import { findViolations, takePicture } from "./check-screen.ts";
import { type Watched, watchPage } from "./watch-page.ts";

/** The wide light one and the narrow dark one are looked at by axe-core as well. */
const variants = [
  { width: 1440, height: 900, colorScheme: "light", isForAxe: true },
  { width: 1440, height: 900, colorScheme: "dark", isForAxe: false },
  { width: 360, height: 740, colorScheme: "light", isForAxe: false },
  { width: 360, height: 740, colorScheme: "dark", isForAxe: true },
] as const;

export type Variant = (typeof variants)[number];

/** A screen in one of the states it can be in, and the way there. */
export type ScreenState<Scene> = {
  readonly name: string;
  /** An answer is a refusal or does not come, and the browser says so in its console. */
  readonly isRefused?: boolean;
  readonly reach: (page: Page, scene: Scene) => Promise<void>;
  /** Puts back what others would stumble over. */
  readonly leave?: (scene: Scene) => void;
};

export type Walk<Scene, State extends ScreenState<Scene>> = {
  readonly states: readonly State[];
  readonly scene: Scene;
  /** The server's, as in `watchPage`. */
  readonly origin: string;
  readonly axeSource: string;
  /** Where a state is looked at; a page that is given for one state after another is watched all the time. */
  readonly pageFor: (state: State) => Promise<Page>;
  /** What becomes of a picture. */
  readonly keep?: (state: State, variant: Variant, png: Buffer) => Promise<void>;
  readonly leavePage?: (page: Page) => Promise<void>;
};

export type Walked = {
  readonly troubles: readonly string[];
  readonly pictures: number;
  /** How often axe-core looked. */
  readonly looks: number;
};

/** Goes to every state once and looks at it in every variant; gives all that was wrong anywhere. */
export async function walkScreens<Scene, State extends ScreenState<Scene>>(
  walk: Walk<Scene, State>,
): Promise<Walked> {
  const watched = new Map<Page, Watched>();
  const counts = { pictures: 0, looks: 0 };
  const troubles: string[] = [];
  let current: State | undefined;
  const rules = { origin: walk.origin, allowsRefusals: () => current?.isRefused === true };
  for (const state of walk.states) {
    current = state;
    const page = await walk.pageFor(state);
    if (!watched.has(page)) watched.set(page, await watchPage(page, rules));
    const found = await visit(walk, state, { page, counts });
    const noticed = [...watched.values()].flatMap((each) => each.takeTroubles());
    troubles.push(...[...found, ...noticed].map((trouble) => `${state.name}: ${trouble}`));
    await walk.leavePage?.(page);
    if (page.isClosed()) watched.delete(page);
  }
  return { troubles, ...counts };
}

type Counts = { pictures: number; looks: number };

async function visit<Scene, State extends ScreenState<Scene>>(
  walk: Walk<Scene, State>,
  state: State,
  { page, counts }: { readonly page: Page; readonly counts: Counts },
): Promise<readonly string[]> {
  const troubles: string[] = [];
  const judged: Promise<void>[] = [];
  try {
    await show(page, variants[0]);
    await state.reach(page, walk.scene);
    for (const variant of variants) {
      await show(page, variant);
      const tell = (found: readonly string[]): void => {
        troubles.push(...found.map((each) => `${variant.width} ${variant.colorScheme}: ${each}`));
      };
      const { png, troubles: found } = await takePicture(page);
      counts.pictures += 1;
      // While the browser goes on.
      judged.push(found.then(tell));
      await walk.keep?.(state, variant, png);
      if (!variant.isForAxe) continue;
      tell(await findViolations(page, walk.axeSource));
      counts.looks += 1;
    }
  } catch (problem) {
    troubles.push(`cannot be reached: ${String(problem)}`);
  } finally {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    state.leave?.(walk.scene);
  }
  await Promise.all(judged);
  return troubles;
}

async function show(page: Page, { width, height, colorScheme }: Variant): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
}
