/**
 * @module
 * Every screen and the address it is at. A screen is loaded when somebody goes there, so the first one comes quickly.
 * Imported by `main.tsx`.
 */
import { Failed, Loading, useAddress } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import { type ComponentType, useEffect, useState } from "react";
import { Frame } from "../shell/frame.tsx";
import { useAnswer } from "../vault-api/use-query.ts";
import { LeadNewPeople } from "./welcome/lead-new-people.tsx";

type ScreenProps = { readonly session: Session };

type Screen = {
  readonly at: RegExp;
  readonly title: string;
  readonly load: () => Promise<{ readonly default: ComponentType<ScreenProps> }>;
};

/** The first that matches is shown. */
const screens: readonly Screen[] = [
  { at: /^\/secrets\/tokens$/u, title: "Tokens", load: () => import("./tokens/tokens-screen.tsx") },
  { at: /^\/audit$/u, title: "Audit", load: () => import("./audit/audit-screen.tsx") },
  { at: /^\/account$/u, title: "Account", load: () => import("./account/account-screen.tsx") },
  { at: /^\/welcome$/u, title: "First steps", load: () => import("./welcome/welcome-screen.tsx") },
  { at: /^\/(?:secrets(?:\/.*)?)?$/u, title: "Secrets", load: () => import("./secrets/secrets-screen.tsx") },
];

type Shown = { readonly of: Screen; readonly draw: ComponentType<ScreenProps> };

/** Asked for before it is known who somebody is, and drawn as it comes; `lazy` would hold it back for a moment. */
function useScreen(screen: Screen | undefined): ComponentType<ScreenProps> | "loading" | "failed" {
  const [shown, setShown] = useState<Shown>();
  const [failed, setFailed] = useState<Screen>();
  useEffect(() => {
    screen?.load().then(
      ({ default: draw }) => setShown({ of: screen, draw }),
      () => setFailed(screen),
    );
  }, [screen]);
  if (shown !== undefined && shown.of === screen) return shown.draw;
  return screen !== undefined && failed === screen ? "failed" : "loading";
}

export function Screens() {
  const session = useAnswer<Session>("/api/session");
  const { path } = useAddress();
  const screen = screens.find(({ at }) => at.test(path));
  const Shown = useScreen(screen);
  if (session.state !== "there") {
    return (
      <main className="alone stack">
        <h1>Keep</h1>
        {session.state === "loading" && <Loading label="Opening Keep" />}
        {session.state === "failed" && <Failed text={session.problem.message} onRetry={session.reload} />}
      </main>
    );
  }
  return (
    <Frame session={session.body} title={screen?.title ?? "Not found"}>
      {screen === undefined && <Failed text="There is nothing at this address" />}
      {Shown === "failed" && <Failed text="This screen cannot be loaded. Load the page again." />}
      {screen !== undefined && Shown === "loading" && <Loading />}
      {typeof Shown !== "string" && (
        <LeadNewPeople>
          <Shown session={session.body} />
        </LeadNewPeople>
      )}
    </Frame>
  );
}
