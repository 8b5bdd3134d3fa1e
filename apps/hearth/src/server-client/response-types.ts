import type { ServerClient } from "./server-client.ts";

/** The fields of Ollama's API that the commands use; the server's own tests verify them. */
export type ListedModel = {
  readonly name: string;
  readonly size: number;
  readonly digest: string;
  readonly modified_at: string;
  readonly capabilities?: readonly string[];
  readonly runs_on?: string;
};

export type RunningModel = {
  readonly name: string;
  readonly size: number;
  readonly size_vram: number;
  readonly digest: string;
  readonly expires_at: string;
  readonly context_length?: number;
  /** What protects the machine from the model; absent in a real Ollama's response. */
  readonly protection?: string;
  /** Parts of the size, and the measured peak; absent too. */
  readonly size_weights?: number;
  readonly size_cache?: number;
  readonly size_resident?: number;
  readonly size_peak?: number;
  /** Other models that use the same load. */
  readonly shares_memory_with?: readonly string[];
  /** Why the model runs on the CPU although a GPU was to be used. */
  readonly gpu_failure?: string;
};

export type SavedMessage = { readonly role: "system" | "user" | "assistant"; readonly content: string };

export type ModelInfo = {
  readonly license?: string;
  readonly modelfile?: string;
  readonly parameters?: string;
  readonly template?: string;
  readonly system?: string;
  readonly capabilities?: readonly string[];
  /** Messages that the server prepends to every chat with this model. */
  readonly messages?: readonly SavedMessage[];
  readonly model_info?: Readonly<Record<string, unknown>>;
  readonly projector_info?: Readonly<Record<string, unknown>>;
  readonly tensors?: readonly {
    readonly name: string;
    readonly type: string;
    readonly shape: readonly number[];
  }[];
  readonly details?: {
    readonly family?: string;
    readonly parameter_size?: string;
    readonly quantization_level?: string;
    readonly parent_model?: string;
  };
};

/** Token counts and durations in nanoseconds, from the last object of a response. */
export type GenerationStats = {
  readonly done_reason?: string;
  readonly total_duration?: number;
  readonly load_duration?: number;
  readonly prompt_eval_count?: number;
  readonly prompt_eval_duration?: number;
  readonly eval_count?: number;
  readonly eval_duration?: number;
};

export async function listModels(server: ServerClient, idleSeconds = 60): Promise<readonly ListedModel[]> {
  const response = await server.request("/api/tags", undefined, { idleSeconds });
  // The response of Ollama's /api/tags.
  return (response as { readonly models?: readonly ListedModel[] }).models ?? [];
}

export async function listRunningModels(server: ServerClient): Promise<readonly RunningModel[]> {
  const response = await server.request("/api/ps");
  // The response of Ollama's /api/ps.
  return (response as { readonly models?: readonly RunningModel[] }).models ?? [];
}

/** `verbose` adds all metadata, including long lists such as the vocabulary. */
export async function showModel(server: ServerClient, model: string, verbose = false): Promise<ModelInfo> {
  // The response of Ollama's /api/show.
  return (await server.request("/api/show", { model, ...(verbose ? { verbose } : {}) })) as ModelInfo;
}
