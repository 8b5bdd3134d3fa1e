import { openLiveRegion } from "./live-region.ts";
import { tellSeconds } from "./measures.ts";
import type { Screen } from "./screen.ts";
import { cutTo } from "./text-width.ts";

const barColumns = 16;
const lightColumns = 5;
const drawEveryMilliseconds = 120;
/** What is quick needs no bar. */
const firstAfterMilliseconds = 250;

/** A bar whose light wanders, with words and the seconds so far, for work of unknown length; gone when disposed. */
export function showWaiting(screen: Screen, words: string): Disposable {
  if (!screen.isTerminal) return { [Symbol.dispose]: () => undefined };
  const region = openLiveRegion(screen);
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const elapsed = performance.now() - startedAt;
    if (elapsed < firstAfterMilliseconds) return;
    const step = Math.floor(elapsed / drawEveryMilliseconds);
    const line = `${words} ${drawLight(step)} ${tellSeconds(elapsed / 1000)}`;
    region.show([cutTo(line, screen.columns() - 1)]);
  }, drawEveryMilliseconds);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      region.clear();
    },
  };
}

function drawLight(step: number): string {
  const way = barColumns - lightColumns;
  const turn = step % (2 * way);
  const place = turn < way ? turn : 2 * way - turn;
  return `▕${" ".repeat(place)}${"█".repeat(lightColumns)}${" ".repeat(way - place)}▏`;
}
