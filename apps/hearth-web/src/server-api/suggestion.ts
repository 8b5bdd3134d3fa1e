import type { KeyRole, NextStep } from "@hearth-and-keep/hearth-contract";

/** The next step for an error of the server, or for one that only the page sees. */
export type Suggestion = NextStep | { readonly action: "start-server" } | { readonly action: "regenerate" };

type SuggestionOf<Action> = Extract<Suggestion, { action: Action }>;

/** One sentence for the web UI. Where the page can take the step itself, `screens/error-notice.tsx` adds a button. */
export function formatSuggestion(suggestion: Suggestion, role?: KeyRole): string {
  const forInference = role === "inference" ? formatsForInference[suggestion.action] : undefined;
  if (forInference !== undefined) return forInference;
  // The formatter is looked up by the action of the suggestion it receives.
  const format = formats[suggestion.action] as (suggestion: Suggestion) => string;
  return format(suggestion);
}

const formats: {
  readonly [Action in Suggestion["action"]]: (suggestion: SuggestionOf<Action>) => string;
} = {
  "pull-model": () => "Pull the model, or choose another one above.",
  "check-name": () => "Check the name: it looks like model:tag or host/team/model.",
  retry: ({ afterSeconds }) =>
    afterSeconds === undefined ? "Try again in a moment." : `Try again in ${afterSeconds} s.`,
  "provide-key": () => "Reload this page and enter the API key as the password.",
  "correct-key": () => "Reload this page and enter the API key as the password.",
  "use-admin-key": () => "Your API key is for inference only. Ask whoever runs this server for an admin key.",
  "use-allowed-address": () => "Open this page by a host name that the server allows.",
  "use-smaller-model": () => "Choose a smaller model, or a smaller context length under Parameters.",
  "use-capable-model": ({ capability }) => `Choose a model that supports ${capability ?? "it"}.`,
  "use-local-model": () => "Choose a local model.",
  "shorten-prompt": ({ promptTokens }) =>
    promptTokens === undefined
      ? "Start a new chat."
      : "Start a new chat, or set a larger context length under Parameters.",
  "send-less": () => "Send less at once, e.g. fewer or smaller images.",
  "free-disk-space": () => "Free disk space: delete models here, or run hearth prune on the server.",
  "replace-model": () => "Delete the model and pull it again.",
  "replace-file": () => "Delete the model and pull it again.",
  "specify-source": () => "Choose a file or a model to create it from.",
  "allow-registry": ({ host = "HOST" }) => `Start the server with --private-registries ${host}.`,
  "check-registry-access": () =>
    "Check that the model is public, or that the server may access the registry.",
  "check-connection": () => "Check your connection and try again.",
  "use-owning-program": () => "This model belongs to another program, e.g. Ollama. Delete it there.",
  "edit-engines-file": () => "This model runs on a remote engine. Change it in the server's engines file.",
  "check-server-version": () => "The server may be a different version. Reload this page.",
  "check-server-log": () =>
    "Try again. If it fails again, see the server's log (hearth logs) or choose another model.",
  "start-server": () => "Start the server with hearth serve, then try again.",
  regenerate: () => "The text received so far is kept. Regenerate for a complete response.",
};

/** Steps of a chat that a key for inference cannot take. */
const formatsForInference: { readonly [Action in Suggestion["action"]]?: string } = {
  "pull-model": "Choose another model above. Pulling this one requires an admin key.",
  "replace-model": "Choose another model above. Replacing this one requires an admin key.",
  "replace-file": "Choose another model above. Replacing this one requires an admin key.",
};
