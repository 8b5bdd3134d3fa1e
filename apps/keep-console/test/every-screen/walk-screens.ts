import type { Page } from "playwright-core";
import type { ConsoleStage } from "../console-stage.ts";
import { type Watched, watchPage } from "../watched-page.ts";
import { accountStates, signInStates, welcomeStates } from "./account-states.ts";
import { auditStates } from "./audit-states.ts";
import { type Looker, prepareScene, type Scene, type ScreenState } from "./scene.ts";
import { secretListStates, secretStates, vaultStates } from "./secrets-states.ts";
import { tokenStates } from "./token-states.ts";

export const everyState: readonly ScreenState[] = [
  ...signInStates,
  ...secretListStates,
  ...secretStates,
  ...vaultStates,
  ...tokenStates,
  ...auditStates,
  ...accountStates,
  ...welcomeStates,
];

export const variants = [
  { width: 1440, height: 900, colorScheme: "light" },
  { width: 1440, height: 900, colorScheme: "dark" },
  { width: 360, height: 740, colorScheme: "light" },
  { width: 360, height: 740, colorScheme: "dark" },
] as const;

export type Variant = (typeof variants)[number];

export type Visit = { readonly page: Page; readonly state: ScreenState; readonly variant: Variant };

export type Walk = {
  readonly stage: ConsoleStage;
  readonly seen: readonly Variant[];
  /** Says what is wrong with what it sees. */
  readonly look: (visit: Visit) => Promise<readonly string[]>;
};

/** Goes to every state and looks at it in every variant; gives all that was wrong anywhere. */
export async function walkScreens({ stage, seen, look }: Walk): Promise<readonly string[]> {
  const scene = await prepareScene(stage);
  let current: ScreenState | undefined;
  const watched = new Map<Looker, Watched>();
  for (const looker of ["owner", "newcomer", "visitor"] as const) {
    const rules = { origin: stage.url, allowsRefusals: () => current?.isRefused === true };
    watched.set(looker, await watchPage(scene.pages[looker], rules));
  }
  const troubles: string[] = [];
  for (const state of everyState) {
    current = state;
    const found = await visitState(state, scene, { seen, look });
    const noticed = [...watched.values()].flatMap((each) => each.takeTroubles());
    troubles.push(...[...found, ...noticed].map((trouble) => `${state.name}: ${trouble}`));
  }
  return troubles;
}

async function visitState(
  state: ScreenState,
  scene: Scene,
  { seen, look }: Pick<Walk, "seen" | "look">,
): Promise<readonly string[]> {
  const page = scene.pages[state.looker ?? "owner"];
  const [first] = variants;
  await page.setViewportSize(first);
  await page.emulateMedia({ colorScheme: first.colorScheme, reducedMotion: "reduce" });
  const troubles: string[] = [];
  try {
    await state.reach(page, scene);
    for (const variant of seen) {
      await page.setViewportSize(variant);
      await page.emulateMedia({ colorScheme: variant.colorScheme });
      const name = `${variant.width} ${variant.colorScheme}`;
      troubles.push(...(await look({ page, state, variant })).map((trouble) => `${name}: ${trouble}`));
    }
  } catch (problem) {
    troubles.push(`cannot be reached: ${String(problem)}`);
  } finally {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    state.leave?.(scene);
  }
  return troubles;
}
