import { FailureError } from "@hearth-and-keep/failures";
import type { Outbound } from "@hearth-and-keep/outbound-http";
import type { Admission } from "../admission/decide-admission.ts";
import { readAdmission } from "../admission/read-admission.ts";
import type { ServeConfig } from "../config.ts";
import type { Failure } from "../failures.ts";
import { assertDevelopmentAllowed, createDevelopmentProviders } from "./development-sign-in.ts";
import type { IdentityProviders } from "./identity-provider.ts";
import { createIdentityProviders } from "./identity-providers.ts";
import { isLoopback, readPublicUrl } from "./provider-address.ts";
import type { SessionLimits } from "./sessions.ts";

export type SignIn = {
  readonly providers: IdentityProviders;
  /** Keep's URL in a browser: the redirect target for providers and the only origin whose pages may use a session. */
  readonly publicUrl: URL;
  readonly sessionCookie: string;
  readonly limits: SessionLimits;
  readonly admission: Admission;
  /** Whether everyone is signed in under the name that they enter. */
  readonly isDevelopment: boolean;
};

export type PreparedSignIn = SignIn & {
  /** Sets the public URL to the listening address, unless one is configured. */
  setListenUrl(url: string): void;
};

type SignInEnvironment = { readonly scheme: "http" | "https"; readonly outbound: OpenOutbound };
type OpenOutbound = (privateHosts: readonly string[]) => Pick<Outbound, "request">;

/** Throws for settings that would send people or authorization codes to a wrong or unencrypted address. */
export async function prepareSignIn(
  config: ServeConfig,
  { scheme, outbound }: SignInEnvironment,
): Promise<PreparedSignIn> {
  const admission = readAdmission(config);
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  const listenUrl = new URL(`${scheme}://${host}:${config.port}`);
  let publicUrl = config.publicUrl === undefined ? listenUrl : readPublicUrl(config.publicUrl);
  if (config.dev) assertDevelopmentAllowed(config, [listenUrl, publicUrl]);
  const providers = config.dev
    ? createDevelopmentProviders()
    : await createIdentityProviders(config, outbound);
  if (config.publicUrl === undefined && providers.size > 0 && !isLoopback(listenUrl)) {
    throw new FailureError<Failure>({ kind: "public-url-not-set" });
  }
  return {
    providers,
    get publicUrl() {
      return publicUrl;
    },
    get sessionCookie() {
      return publicUrl.protocol === "https:" ? "__Host-session" : "session";
    },
    limits: { idleMinutes: config.sessionIdleMinutes, lifetimeHours: config.sessionLifetimeHours },
    admission,
    isDevelopment: config.dev,
    setListenUrl(url) {
      if (config.publicUrl === undefined) publicUrl = new URL(url);
    },
  };
}
