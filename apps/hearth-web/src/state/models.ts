import { ask, asProblem, type ServerProblem } from "../server-api/api-client.ts";
import { createStore } from "./store.ts";

/** As the server lists it. */
export type Model = {
  readonly name: string;
  readonly size: number;
  readonly digest: string;
  readonly modified_at: string;
  readonly capabilities: readonly string[];
  readonly details: {
    /** "remote" for one that engines on other machines serve. */
    readonly format?: string;
    readonly family?: string;
    readonly parameter_size?: string;
    readonly quantization_level?: string;
    readonly context_length?: number;
  };
};

export type Models =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly problem: ServerProblem }
  | { readonly state: "there"; readonly list: readonly Model[] };

export const models = createStore<Models>({ state: "loading" });

export async function loadModels(): Promise<void> {
  try {
    const { models: list } = await ask<{ readonly models: readonly Model[] }>("/api/tags");
    models.set(() => ({ state: "there", list }));
  } catch (thrown) {
    const problem = asProblem(thrown);
    // A list that is there stays while the server is away.
    models.set((known) => (known.state === "there" ? known : { state: "failed", problem }));
  }
}

export async function removeModel(name: string): Promise<void> {
  await ask("/api/delete", { method: "DELETE", body: { model: name } });
  await loadModels();
}

/** Those one can talk to; the others only make vectors. */
export function talking(list: readonly Model[]): readonly Model[] {
  return list.filter(({ capabilities }) => capabilities.includes("completion"));
}

export function canSee(list: readonly Model[], name: string): boolean {
  return list.some((model) => model.name === name && model.capabilities.includes("vision"));
}

export function isElsewhere(list: readonly Model[], name: string): boolean {
  return list.some((model) => model.name === name && model.details.format === "remote");
}

const chosenKey = "hearth-model";

/** The model that was last talked to, while it is there; else the first. */
export function usualModel(list: readonly Model[]): string | undefined {
  const last = localStorage.getItem(chosenKey);
  const usable = talking(list);
  return (usable.find(({ name }) => name === last) ?? usable[0])?.name;
}

export function rememberModel(name: string): void {
  localStorage.setItem(chosenKey, name);
}
