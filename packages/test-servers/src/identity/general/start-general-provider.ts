/**
 * @module
 * A real OpenID Connect provider (`oidc-provider`) configured like Google: discovery, PKCE, authorization code, an ID
 * token with e-mail claims, and an `iss` parameter on the redirect. Accounts and clients come from the test and may
 * change while it runs, and the signing key can be rotated. Everything is in memory.
 * Imported by the package's index and neighbouring tests.
 */
import { randomBytes } from "node:crypto";
import type { ClientMetadata, Configuration, JWK, Provider } from "oidc-provider";
import { serveOnLoopback } from "../../loopback-server.ts";
import { escapeHtml } from "../sign-in-page.ts";
import { makeSigningKey } from "../signing-keys.ts";
import { type SignInInput, walkSignIn } from "../walk-sign-in.ts";
import { claimsOf, createAccounts, type GeneralAccount, type GeneralAccounts } from "./accounts.ts";
import { handleInteraction, interactionPath } from "./interactions.ts";
import { createStorage } from "./storage.ts";

export type GeneralClient = {
  readonly id: string;
  readonly secret: string;
  readonly redirectUris: readonly string[];
};

export type GeneralProviderOptions = {
  readonly accounts: readonly GeneralAccount[];
  readonly clients?: readonly GeneralClient[];
  readonly codeLifetimeSeconds?: number;
};

export type GeneralIdentityProvider = AsyncDisposable & {
  readonly issuer: string;
  putAccount(account: GeneralAccount): void;
  registerClient(client: GeneralClient): void;
  /** Signs in without a browser; the account is identified by e-mail address or subject. */
  signInAs(authorizationUrl: URL | string, input: SignInInput): Promise<URL>;
  /** Signs with a new key from now on; the old one stays published unless it is withdrawn. */
  rotateSigningKey(change?: { readonly withdrawOld?: boolean }): Promise<void>;
};

export async function startGeneralIdentityProvider(
  options: GeneralProviderOptions,
): Promise<GeneralIdentityProvider> {
  const accounts = createAccounts(options.accounts);
  const clients = new Map((options.clients ?? []).map((client) => [client.id, describeClient(client)]));
  let keys = [await makeSigningKey()];
  // Loaded here, because most tests start no provider.
  const library = await import("oidc-provider");
  let provider: Provider | undefined;
  await using undo = new AsyncDisposableStack();
  const server = await serveOnLoopback((request, response) => {
    if (provider === undefined) throw new Error("Cannot handle the request: the provider is still starting");
    if (request.url?.startsWith(interactionPath) !== true) return provider.callback()(request, response);
    return handleInteraction({ request, response }, { provider, accounts });
  });
  undo.use(server);
  const fixed = configure(accounts, {
    port: server.port,
    codeLifetimeSeconds: options.codeLifetimeSeconds ?? 60,
  });
  const storage = createStorage(clients);
  const useKeys = (chosen: readonly JWK[]): void => {
    provider = new library.Provider(server.origin, { ...fixed, adapter: storage, jwks: { keys: chosen } });
  };
  useKeys(keys);
  const owned = undo.move();
  return {
    issuer: server.origin,
    putAccount: (account) => accounts.put(account),
    registerClient: (client) => void clients.set(client.id, describeClient(client)),
    signInAs: walkSignIn,
    async rotateSigningKey({ withdrawOld = false } = {}) {
      const fresh = await makeSigningKey();
      // The library signs with the first suitable key.
      keys = withdrawOld ? [fresh] : [fresh, ...keys];
      useKeys(keys);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function describeClient(client: GeneralClient): ClientMetadata {
  return {
    client_id: client.id,
    client_secret: client.secret,
    redirect_uris: client.redirectUris,
    token_endpoint_auth_method: "client_secret_post",
  };
}

function configure(
  accounts: GeneralAccounts,
  { port, codeLifetimeSeconds }: { port: number; codeLifetimeSeconds: number },
): Configuration {
  return {
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["name", "hd", "groups", "_claim_names"],
    },
    // E-mail and profile claims are in the ID token itself, as with Google.
    conformIdTokenClaims: false,
    cookies: {
      keys: [randomBytes(32).toString("hex")],
      // A browser shares cookies between all ports of one host, so two providers need different names.
      names: { session: `session_${port}`, interaction: `interaction_${port}`, resume: `resume_${port}` },
    },
    features: { devInteractions: { enabled: false } },
    findAccount: (_context, subject) => {
      const account = accounts.findBySubject(subject);
      return account && { accountId: subject, claims: () => claimsOf(account) };
    },
    interactions: { url: (_context, interaction) => `${interactionPath}${interaction.uid}` },
    pkce: { required: () => true },
    renderError: (context, { error, error_description: description }) => {
      context.type = "html";
      context.body = `<!doctype html><title>${escapeHtml(error)}</title><p>${escapeHtml(description ?? error)}</p>`;
    },
    responseTypes: ["code"],
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: codeLifetimeSeconds,
      Grant: 3600,
      IdToken: 3600,
      Interaction: 3600,
      Session: 3600,
    },
  };
}
