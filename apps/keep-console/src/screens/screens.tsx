/**
 * @module
 * All screens and their paths. A screen's code is loaded on the first visit, so that the first screen appears quickly.
 * Imported by `main.tsx`.
 */
import { ErrorNotice, Loading, useLocation } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import { type ComponentType, useEffect, useState } from "react";
import { Frame } from "../shell/frame.tsx";
import { useQuery } from "../vault-api/use-query.ts";
import { RedirectNewAccount } from "./welcome/redirect-new-account.tsx";

type ScreenProps = { readonly session: Session };

type Screen = {
  readonly path: RegExp;
  readonly title: string;
  readonly load: () => Promise<{ readonly default: ComponentType<ScreenProps> }>;
};

/** The first match is shown. */
const screens: readonly Screen[] = [
  { path: /^\/secrets\/tokens$/u, title: "Tokens", load: () => import("./tokens/tokens-screen.tsx") },
  {
    path: /^\/secrets\/trust-rules$/u,
    title: "Trust rules",
    load: () => import("./trust-rules/trust-rules-screen.tsx"),
  },
  {
    path: /^\/organisations$/u,
    title: "Organisations",
    load: () => import("./organisations/organisations-screen.tsx"),
  },
  {
    path: /^\/organisations\/[^/]+(?:\/(?:teams|vaults|tokens|trust-rules|audit|settings))?$/u,
    title: "Organisation",
    load: () => import("./organisations/organisations-screen.tsx"),
  },
  { path: /^\/accounts$/u, title: "Accounts", load: () => import("./accounts/accounts-screen.tsx") },
  { path: /^\/audit$/u, title: "Audit", load: () => import("./audit/audit-screen.tsx") },
  { path: /^\/account$/u, title: "Account", load: () => import("./account/account-screen.tsx") },
  { path: /^\/welcome$/u, title: "First steps", load: () => import("./welcome/welcome-screen.tsx") },
  {
    path: /^\/(?:secrets(?:\/.*)?)?$/u,
    title: "Secrets",
    load: () => import("./secrets/secrets-screen.tsx"),
  },
];

type LoadedScreen = { readonly screen: Screen; readonly component: ComponentType<ScreenProps> };

/** Starts loading before the session is known. React's `lazy` would delay the first render by a moment. */
function useScreenComponent(screen: Screen | undefined): ComponentType<ScreenProps> | "loading" | "failed" {
  const [loaded, setLoaded] = useState<LoadedScreen>();
  const [failed, setFailed] = useState<Screen>();
  useEffect(() => {
    screen?.load().then(
      ({ default: component }) => setLoaded({ screen, component }),
      () => setFailed(screen),
    );
  }, [screen]);
  if (loaded !== undefined && loaded.screen === screen) return loaded.component;
  return screen !== undefined && failed === screen ? "failed" : "loading";
}

export function Screens() {
  const session = useQuery<Session>("/api/session");
  const { path } = useLocation();
  const screen = screens.find((candidate) => candidate.path.test(path));
  const Component = useScreenComponent(screen);
  if (session.state !== "loaded") {
    return (
      <main className="standalone stack">
        <h1>Keep</h1>
        {session.state === "loading" && <Loading label="Loading Keep" />}
        {session.state === "failed" && <ErrorNotice text={session.error.message} onRetry={session.reload} />}
      </main>
    );
  }
  return (
    <Frame session={session.body} title={screen?.title ?? "Page not found"}>
      {screen === undefined && <ErrorNotice text="Page not found" />}
      {Component === "failed" && <ErrorNotice text="This screen failed to load. Reload the page." />}
      {screen !== undefined && Component === "loading" && <Loading />}
      {typeof Component !== "string" && (
        <RedirectNewAccount>
          <Component session={session.body} />
        </RedirectNewAccount>
      )}
    </Frame>
  );
}
