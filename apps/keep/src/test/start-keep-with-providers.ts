import {
  type CodeHostingProvider,
  type GeneralIdentityProvider,
  startCodeHostingProvider,
  startGeneralIdentityProvider,
} from "@hearth-and-keep/test-servers";
import { createFakeBrowser, type FakeBrowser } from "./fake-browser.ts";
import { startTestKeep, type TestKeep, type TestKeepOptions } from "./start-test-keep.ts";

export type KeepWithProviders = AsyncDisposable & {
  readonly keep: TestKeep;
  readonly codeHosting: CodeHostingProvider;
  readonly general: GeneralIdentityProvider;
  /** Another node on the same database, with other settings as given. */
  addNode(changes?: Readonly<Record<string, string>>): Promise<TestKeep>;
  /** Authenticates as the account on the provider's pages; returns the callback URL. */
  authenticateAt(provider: "code-hosting" | "general", location: URL | string, account: string): Promise<URL>;
  /** A complete sign-in on a node, from the button to the session. */
  signIn(provider: "code-hosting" | "general", account: string, at?: TestKeep): Promise<FakeBrowser>;
};

const people = {
  codeHosting: [
    {
      id: 201,
      login: "first",
      name: "First Person",
      emails: [{ email: "first@example.com", primary: true, verified: true, visibility: "private" }],
    },
    {
      id: 202,
      login: "second",
      name: null,
      emails: [{ email: "second@example.com", primary: true, verified: false, visibility: null }],
    },
  ],
  general: [
    { subject: "101", email: "first@example.com", isEmailVerified: true, name: "First Person" },
    { subject: "102", email: "second@example.com", isEmailVerified: false, name: "Second <b>Person</b>" },
  ],
} as const;

const client = { id: "keep", secret: "secret-of-keep" };

/** Keep and both providers, each with Keep registered as a client and two accounts. */
export async function startKeepWithProviders(options: TestKeepOptions = {}): Promise<KeepWithProviders> {
  await using cleanup = new AsyncDisposableStack();
  const codeHosting = cleanup.use(
    await startCodeHostingProvider({ accounts: people.codeHosting, allowsUnverifiedEmail: true }),
  );
  const general = cleanup.use(await startGeneralIdentityProvider({ accounts: people.general }));
  const settings = {
    codeHostingName: "Code Host",
    codeHostingUrl: codeHosting.origin,
    codeHostingApiUrl: codeHosting.apiUrl,
    codeHostingClientId: client.id,
    codeHostingClientSecret: client.secret,
    generalName: "General Provider",
    generalIssuer: general.issuer,
    generalClientId: client.id,
    generalClientSecret: client.secret,
    ...options.settings,
  };
  const keep = cleanup.use(await startTestKeep({ ...options, settings }));
  const nodes = [keep];
  const register = (): void => {
    const callbacks = nodes.map(({ url }) => `${url}/auth/callback`);
    codeHosting.registerApplication({
      clientId: client.id,
      clientSecret: client.secret,
      callbackUrl: callbacks[0] ?? "",
    });
    general.registerClient({ ...client, redirectUris: callbacks.map((url) => `${url}/general`) });
  };
  register();
  const authenticateAt: KeepWithProviders["authenticateAt"] = (provider, location, account) =>
    (provider === "general" ? general : codeHosting).signInAs(location, { account });
  const owned = cleanup.move();
  return {
    keep,
    codeHosting,
    general,
    authenticateAt,
    async addNode(changes = {}) {
      const { databaseUrl, key } = keep;
      const node = owned.use(
        await startTestKeep({ ...options, settings: { ...settings, ...changes }, databaseUrl, key }),
      );
      nodes.push(node);
      register();
      return node;
    },
    async signIn(provider, account, at = keep) {
      const browser = createFakeBrowser(at);
      const location = await browser.startSignIn(provider);
      const response = await browser.followCallback(await authenticateAt(provider, location, account));
      if (response.status !== 303)
        throw new Error(`Keep returned ${response.status}: ${await response.text()}`);
      return browser;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
