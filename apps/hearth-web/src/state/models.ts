import { type RequestError, request, toRequestError } from "../server-api/api-client.ts";
import { createStore } from "./store.ts";

/** An entry of `/api/tags`. */
export type Model = {
  readonly name: string;
  readonly size: number;
  readonly digest: string;
  readonly modified_at: string;
  readonly capabilities: readonly string[];
  /** Absent for a model that runs on the server's own machine. */
  readonly runs_on?: "pool" | "remote";
  readonly details: {
    /** "remote" for a model that runs on a remote engine. */
    readonly format?: string;
    readonly family?: string;
    readonly parameter_size?: string;
    readonly quantization_level?: string;
    readonly context_length?: number;
  };
};

export type Models =
  | { readonly state: "loading" }
  | { readonly state: "failed"; readonly error: RequestError }
  | { readonly state: "loaded"; readonly list: readonly Model[] };

export const models = createStore<Models>({ state: "loading" });

export async function loadModels(): Promise<void> {
  try {
    const { models: list } = await request<{ readonly models: readonly Model[] }>("/api/tags");
    models.set(() => ({ state: "loaded", list }));
  } catch (thrown) {
    const error = toRequestError(thrown);
    // A list that is already loaded stays usable while the server is unreachable.
    models.set((current) => (current.state === "loaded" ? current : { state: "failed", error }));
  }
}

export async function deleteModel(name: string): Promise<void> {
  await request("/api/delete", { method: "DELETE", body: { model: name } });
  await loadModels();
}

/** Models that generate text; the others only compute embeddings. */
export function chatModels(list: readonly Model[]): readonly Model[] {
  return list.filter(({ capabilities }) => capabilities.includes("completion"));
}

export function supportsImages(list: readonly Model[], name: string): boolean {
  return list.some((model) => model.name === name && model.capabilities.includes("vision"));
}

export function isRemote({ details }: Model): boolean {
  return details.format === "remote";
}

const storageKey = "hearth-model";

/**
 * The model used last, if it still exists; otherwise the first, preferably one on this machine. Never one outside the
 * operator's network: a prompt is sent there only if somebody chose it.
 */
export function defaultModel(list: readonly Model[]): string | undefined {
  const last = localStorage.getItem(storageKey);
  const usable = chatModels(list).filter(({ runs_on: location }) => location !== "remote");
  const preferred = usable.find(({ name }) => name === last) ?? usable.find((model) => !isRemote(model));
  return (preferred ?? usable[0])?.name;
}

export function saveChosenModel(name: string): void {
  localStorage.setItem(storageKey, name);
}
