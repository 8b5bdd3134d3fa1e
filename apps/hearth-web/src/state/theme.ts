import { createStore } from "./store.ts";

export type Theme = "system" | "light" | "dark";

const key = "hearth-theme";
const names: readonly Theme[] = ["system", "light", "dark"];

/** What the person chose, or what their system says. */
export const theme = createStore<Theme>(names.find((name) => name === localStorage.getItem(key)) ?? "system");

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.get();
}

export function nextTheme(): void {
  theme.set((now) => names[(names.indexOf(now) + 1) % names.length] ?? "system");
  localStorage.setItem(key, theme.get());
  applyTheme();
}
