import { Loading, navigate, useLocation } from "@hearth-and-keep/page-design";
import { type ReactNode, useEffect, useState } from "react";
import { isNewAccount, recordFirstStepsOffered, wereFirstStepsOffered } from "./first-visit.ts";

/** Redirects the first visit of a new account to the first steps, once. */
export function RedirectNewAccount({ children }: { readonly children: ReactNode }) {
  const { path } = useLocation();
  const isAtSecrets = path === "/" || path === "/secrets";
  const [isDecided, setIsDecided] = useState(() => !isAtSecrets || wereFirstStepsOffered());
  useEffect(() => {
    if (isDecided || !isAtSecrets) return;
    let hasLeft = false;
    void isNewAccount().then((isNew) => {
      // Someone who already went elsewhere stays there.
      if (hasLeft) return undefined;
      recordFirstStepsOffered();
      if (isNew) navigate("/welcome", { replace: true });
      setIsDecided(true);
      return undefined;
    });
    return () => {
      hasLeft = true;
    };
  }, [isDecided, isAtSecrets]);
  return isDecided || !isAtSecrets ? children : <Loading label="Loading Keep" />;
}
