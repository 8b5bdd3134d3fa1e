/**
 * @module
 * Every screen and the address it is at. A screen is loaded when somebody goes there, so the first one comes quickly.
 * Imported by `main.tsx`.
 */
import type { Session } from "@hearth-and-keep/vault-contract";
import { type ComponentType, lazy, Suspense } from "react";
import { Failed, Loading } from "../design/states.tsx";
import { useAddress } from "../router/router.tsx";
import { Frame } from "../shell/frame.tsx";
import { useAnswer } from "../vault-api/use-answer.ts";
import { LeadNewPeople } from "./welcome/lead-new-people.tsx";

type ScreenProps = { readonly session: Session };

type Screen = {
  readonly at: RegExp;
  readonly title: string;
  readonly show: ComponentType<ScreenProps>;
};

/** The first that matches is shown. */
const screens: readonly Screen[] = [
  { at: /^\/secrets\/tokens$/u, title: "Tokens", show: lazy(() => import("./tokens/tokens-screen.tsx")) },
  { at: /^\/audit$/u, title: "Audit", show: lazy(() => import("./audit/audit-screen.tsx")) },
  { at: /^\/account$/u, title: "Account", show: lazy(() => import("./account/account-screen.tsx")) },
  { at: /^\/welcome$/u, title: "First steps", show: lazy(() => import("./welcome/welcome-screen.tsx")) },
  {
    at: /^\/(?:secrets(?:\/.*)?)?$/u,
    title: "Secrets",
    show: lazy(() => import("./secrets/secrets-screen.tsx")),
  },
];

export function Screens() {
  const session = useAnswer<Session>("/api/session");
  const { path } = useAddress();
  if (session.state !== "there") {
    return (
      <main className="alone stack">
        <h1>Keep</h1>
        {session.state === "loading" && <Loading label="Opening Keep" />}
        {session.state === "failed" && <Failed text={session.problem.message} onRetry={session.reload} />}
      </main>
    );
  }
  const screen = screens.find(({ at }) => at.test(path));
  const Shown = screen?.show;
  return (
    <Frame session={session.body} title={screen?.title ?? "Not found"}>
      <Suspense fallback={<Loading />}>
        {Shown === undefined ? (
          <Failed text="There is nothing at this address" />
        ) : (
          <LeadNewPeople>
            <Shown session={session.body} />
          </LeadNewPeople>
        )}
      </Suspense>
    </Frame>
  );
}
