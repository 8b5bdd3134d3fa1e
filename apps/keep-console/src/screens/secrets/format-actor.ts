import { useCallback } from "react";
import { useTokenNames } from "../../vault-api/use-token-names.ts";

/** Who did something, in words: `session:…` is the one person an account has, `token:…` a program of theirs. */
export type SayWho = (actor: string) => string;

export function useWho(): SayWho {
  const names = useTokenNames();
  return useCallback(
    (actor) => {
      if (actor.startsWith("session:")) return "You";
      if (actor.startsWith("token:")) return names.get(actor.slice("token:".length)) ?? "A token";
      return "Keep";
    },
    [names],
  );
}
