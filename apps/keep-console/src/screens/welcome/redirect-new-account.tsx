import { Loading, navigate, useLocation } from "@hearth-and-keep/page-design";
import { type ReactNode, useEffect, useState } from "react";
import { isNewAccount, recordFirstStepsOffered, wereFirstStepsOffered } from "./first-visit.ts";

/** Redirects the first visit of a new account to the first steps, once. */
export function RedirectNewAccount({ children }: { readonly children: ReactNode }) {
  const { path } = useLocation();
  const isAtSecrets = path === "/" || path === "/secrets";
  const [isDecided, setIsDecided] = useState(() => !isAtSecrets || wereFirstStepsOffered());
  useEffect(() => {
    if (isDecided) return;
    void isNewAccount().then((isNew) => {
      recordFirstStepsOffered();
      if (isNew) navigate("/welcome", { replace: true });
      setIsDecided(true);
      return undefined;
    });
  }, [isDecided]);
  return isDecided ? children : <Loading label="Loading Keep" />;
}
