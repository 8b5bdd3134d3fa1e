import { go, Loading, useAddress } from "@hearth-and-keep/page-design";
import { type ReactNode, useEffect, useState } from "react";
import { isNewPerson, rememberFirstSteps, wereFirstStepsOffered } from "./first-visit.ts";

/** Whoever comes to their secrets for the very first time is shown the first steps, once. */
export function LeadNewPeople({ children }: { readonly children: ReactNode }) {
  const { path } = useAddress();
  const isAtSecrets = path === "/" || path === "/secrets";
  const [isDecided, setDecided] = useState(() => !isAtSecrets || wereFirstStepsOffered());
  useEffect(() => {
    if (isDecided) return;
    void isNewPerson().then((isNew) => {
      rememberFirstSteps();
      if (isNew) go("/welcome", { replaces: true });
      setDecided(true);
      return undefined;
    });
  }, [isDecided]);
  return isDecided ? children : <Loading label="Opening Keep" />;
}
