import type { Page } from "playwright-core";
import { captureScreen, findViolations } from "./check-screen.ts";
import { type Watched, watchPage } from "./watch-page.ts";

const wideLight: Variant = { width: 1440, height: 900, colorScheme: "light", isForAxe: true };
const narrowDark: Variant = { width: 360, height: 740, colorScheme: "dark", isForAxe: true };

/** axe-core runs on the wide light and the narrow dark variant only. */
export const everyVariant: readonly Variant[] = [
  wideLight,
  { width: 1440, height: 900, colorScheme: "dark", isForAxe: false },
  { width: 360, height: 740, colorScheme: "light", isForAxe: false },
  narrowDark,
];

/** Both widths and both themes, but not every combination, which saves a third of the time. */
export const twoVariants: readonly Variant[] = [wideLight, narrowDark];

export type Variant = {
  readonly width: number;
  readonly height: number;
  readonly colorScheme: "light" | "dark";
  readonly isForAxe: boolean;
};

/** A screen in one of its states, and how to reach it. */
export type ScreenState<Scene> = {
  readonly name: string;
  /** A request fails in this state, so the browser logs an error to its console. */
  readonly isRefused?: boolean;
  readonly reach: (page: Page, scene: Scene) => Promise<void>;
  /** Restores anything that would affect other states. */
  readonly leave?: (scene: Scene) => void;
};

export type Walk<Scene, State extends ScreenState<Scene>> = {
  readonly states: readonly State[];
  readonly variants: readonly Variant[];
  /** Runs axe-core on one of its variants per state, in turn, instead of on both. */
  readonly alternatesAxe?: boolean;
  readonly scene: Scene;
  /** The server's origin, as in `watchPage`. */
  readonly origin: string;
  readonly axeSource: string;
  /** The page on which a state is shown; a page that is returned for several states is watched throughout. */
  readonly pageFor: (state: State) => Promise<Page>;
  /** Saves a screenshot. */
  readonly keep?: (state: State, variant: Variant, png: Buffer) => Promise<void>;
  readonly leavePage?: (page: Page) => Promise<void>;
};

export type WalkResult = {
  readonly problems: readonly string[];
  readonly screenshots: number;
  /** The number of axe-core runs. */
  readonly audits: number;
};

/** Visits every state once, captures it in the given variants, and returns all problems. */
export async function walkScreens<Scene, State extends ScreenState<Scene>>(
  walk: Walk<Scene, State>,
): Promise<WalkResult> {
  const watched = new Map<Page, Watched>();
  const counts = { screenshots: 0, audits: 0 };
  const problems: string[] = [];
  let current: State | undefined;
  const rules = { origin: walk.origin, allowsRefusals: () => current?.isRefused === true };
  for (const state of walk.states) {
    current = state;
    const page = await walk.pageFor(state);
    if (!watched.has(page)) watched.set(page, await watchPage(page, rules));
    const found = await visit(walk, state, { page, counts, audited: chooseAudited(walk, state) });
    const noticed = [...watched.values()].flatMap((each) => each.takeProblems());
    problems.push(...[...found, ...noticed].map((problem) => `${state.name}: ${problem}`));
    await walk.leavePage?.(page);
    if (page.isClosed()) watched.delete(page);
  }
  return { problems, ...counts };
}

type Counts = { screenshots: number; audits: number };

/** The variants that axe-core runs on. */
function chooseAudited<Scene, State extends ScreenState<Scene>>(
  { states, variants, alternatesAxe = false }: Walk<Scene, State>,
  state: State,
): readonly Variant[] {
  const audited = variants.filter(({ isForAxe }) => isForAxe);
  const turn = states.indexOf(state);
  return alternatesAxe ? audited.filter((_variant, index) => index === turn % audited.length) : audited;
}

type Visit = { readonly page: Page; readonly counts: Counts; readonly audited: readonly Variant[] };

async function visit<Scene, State extends ScreenState<Scene>>(
  walk: Walk<Scene, State>,
  state: State,
  { page, counts, audited }: Visit,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const checked: Promise<void>[] = [];
  try {
    await show(page, wideLight);
    await state.reach(page, walk.scene);
    for (const variant of walk.variants) {
      await show(page, variant);
      const report = (found: readonly string[]): void => {
        problems.push(...found.map((each) => `${variant.width} ${variant.colorScheme}: ${each}`));
      };
      const { png, problems: found } = await captureScreen(page);
      counts.screenshots += 1;
      // Checked while the browser continues.
      checked.push(found.then(report));
      await walk.keep?.(state, variant, png);
      if (!audited.includes(variant)) continue;
      report(await findViolations(page, walk.axeSource));
      counts.audits += 1;
    }
  } catch (error) {
    problems.push(`cannot be reached: ${String(error)}`);
  } finally {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    state.leave?.(walk.scene);
  }
  await Promise.all(checked);
  return problems;
}

async function show(page: Page, { width, height, colorScheme }: Variant): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
}
