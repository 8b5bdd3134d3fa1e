import type { ServerCaller } from "./call-server.ts";

/** What of the server's answers the commands use; its own tests hold it to these shapes. */
export type ListedModel = {
  readonly name: string;
  readonly size: number;
  readonly digest: string;
  readonly modified_at: string;
  readonly capabilities?: readonly string[];
};

export type RunningModel = {
  readonly name: string;
  readonly size: number;
  readonly size_vram: number;
  readonly digest: string;
  readonly expires_at: string;
  readonly context_length?: number;
};

export type ModelTurn = { readonly role: "system" | "user" | "assistant"; readonly content: string };

export type ShownModel = {
  readonly license?: string;
  readonly modelfile?: string;
  readonly parameters?: string;
  readonly template?: string;
  readonly system?: string;
  readonly capabilities?: readonly string[];
  /** Turns that the server puts before every conversation with it. */
  readonly messages?: readonly ModelTurn[];
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

/** Counts and nanoseconds that the last object of an answer has. */
export type AnswerEnd = {
  readonly done_reason?: string;
  readonly total_duration?: number;
  readonly load_duration?: number;
  readonly prompt_eval_count?: number;
  readonly prompt_eval_duration?: number;
  readonly eval_count?: number;
  readonly eval_duration?: number;
};

export async function listedModels(server: ServerCaller, idleSeconds = 60): Promise<readonly ListedModel[]> {
  const answer = await server.ask("/api/tags", undefined, { idleSeconds });
  // The shape of the family's list, which Ollama's clients parse as well.
  return (answer as { readonly models?: readonly ListedModel[] }).models ?? [];
}

export async function runningModels(server: ServerCaller): Promise<readonly RunningModel[]> {
  const answer = await server.ask("/api/ps");
  // The shape of the family's list of loaded models.
  return (answer as { readonly models?: readonly RunningModel[] }).models ?? [];
}

/** With everything that its file says when it is to be whole: also the lists of words, which are long. */
export async function showModel(server: ServerCaller, model: string, isWhole = false): Promise<ShownModel> {
  // The shape of the family's description of a model.
  return (await server.ask("/api/show", { model, ...(isWhole ? { verbose: true } : {}) })) as ShownModel;
}
