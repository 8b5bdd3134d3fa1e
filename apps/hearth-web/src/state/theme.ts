import { createStore } from "./store.ts";

export type Theme = "system" | "light" | "dark";

const key = "hearth-theme";
const names: readonly Theme[] = ["system", "light", "dark"];

/** The theme the user chose; the system's by default. */
export const theme = createStore<Theme>(names.find((name) => name === localStorage.getItem(key)) ?? "system");

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.get();
}

export function cycleTheme(): void {
  theme.set((current) => names[(names.indexOf(current) + 1) % names.length] ?? "system");
  localStorage.setItem(key, theme.get());
  applyTheme();
}
