import { useCallback } from "react";
import { useTokenNames } from "../../vault-api/use-token-names.ts";

/** Formats `session:…` as "You" (an account belongs to one person) and `token:…` as the token's name. */
export type FormatActor = (actor: string) => string;

export function useFormatActor(): FormatActor {
  const tokenNames = useTokenNames();
  return useCallback(
    (actor) => {
      if (actor.startsWith("session:")) return "You";
      if (actor.startsWith("token:")) return tokenNames.get(actor.slice("token:".length)) ?? "A token";
      if (actor.startsWith("trust-rule:")) return "A trust rule";
      return "Keep";
    },
    [tokenNames],
  );
}
