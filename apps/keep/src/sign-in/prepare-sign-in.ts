import { FailureError } from "@hearth-and-keep/failures";
import type { Outbound } from "@hearth-and-keep/outbound-http";
import type { ServeConfig } from "../config.ts";
import type { Failure } from "../failures.ts";
import type { IdentityProviders } from "./identity-provider.ts";
import { createIdentityProviders } from "./identity-providers.ts";
import { isLoopback, readPublicUrl } from "./provider-address.ts";
import type { SessionLimits } from "./sessions.ts";

export type SignIn = {
  readonly providers: IdentityProviders;
  /** Where people reach Keep: providers send them back there, and its pages alone may use a session. */
  readonly publicUrl: URL;
  readonly sessionCookie: string;
  readonly limits: SessionLimits;
};

export type PreparedSignIn = SignIn & {
  /** Without a setting people reach Keep where it listens, which is known once it does. */
  listensAt(url: string): void;
};

type Place = { readonly scheme: "http" | "https"; readonly outbound: OpenOutbound };
type OpenOutbound = (privateHosts: readonly string[]) => Pick<Outbound, "request">;

/** Throws when what is set would send people or their codes the wrong way. */
export function prepareSignIn(config: ServeConfig, { scheme, outbound }: Place): PreparedSignIn {
  const host = config.host.includes(":") ? `[${config.host}]` : config.host;
  const listening = new URL(`${scheme}://${host}:${config.port}`);
  const providers = createIdentityProviders(config, outbound);
  if (config.publicUrl === undefined && providers.size > 0 && !isLoopback(listening)) {
    throw new FailureError<Failure>({ kind: "public-url-not-set" });
  }
  let publicUrl = config.publicUrl === undefined ? listening : readPublicUrl(config.publicUrl);
  return {
    providers,
    get publicUrl() {
      return publicUrl;
    },
    get sessionCookie() {
      return publicUrl.protocol === "https:" ? "__Host-session" : "session";
    },
    limits: { idleMinutes: config.sessionIdleMinutes, lifetimeHours: config.sessionLifetimeHours },
    listensAt(url) {
      if (config.publicUrl === undefined) publicUrl = new URL(url);
    },
  };
}
