import {
  type CodeHostingProvider,
  type GeneralIdentityProvider,
  startCodeHostingProvider,
  startGeneralIdentityProvider,
} from "@hearth-and-keep/test-servers";
import { startTestKeep, type TestKeep, type TestKeepOptions } from "./start-test-keep.ts";
import { type KeepVisitor, visitKeep } from "./fake-browser.ts";

export type KeepWithProviders = AsyncDisposable & {
  readonly keep: TestKeep;
  readonly codeHosting: CodeHostingProvider;
  readonly general: GeneralIdentityProvider;
  /** Another node on the same database. */
  addNode(): Promise<TestKeep>;
  /** Says at the provider's pages who one is; gives the way back. */
  answerAt(provider: "code-hosting" | "general", location: URL | string, account: string): Promise<URL>;
  /** A whole sign-in at a node, from the button to the session. */
  signIn(provider: "code-hosting" | "general", account: string, at?: TestKeep): Promise<KeepVisitor>;
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

/** Keep and both providers, each of which knows Keep and two people. */
export async function startKeepWithProviders(options: TestKeepOptions = {}): Promise<KeepWithProviders> {
  await using undo = new AsyncDisposableStack();
  const codeHosting = undo.use(
    await startCodeHostingProvider({ accounts: people.codeHosting, allowsUnverifiedEmail: true }),
  );
  const general = undo.use(await startGeneralIdentityProvider({ accounts: people.general }));
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
  const keep = undo.use(await startTestKeep({ ...options, settings }));
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
  const answerAt: KeepWithProviders["answerAt"] = (provider, location, account) =>
    (provider === "general" ? general : codeHosting).signInAs(location, { account });
  const owned = undo.move();
  return {
    keep,
    codeHosting,
    general,
    answerAt,
    async addNode() {
      const { databaseUrl, key } = keep;
      const node = owned.use(await startTestKeep({ settings, databaseUrl, key }));
      nodes.push(node);
      register();
      return node;
    },
    async signIn(provider, account, at = keep) {
      const visitor = visitKeep(at);
      const location = await visitor.leave(provider);
      const response = await visitor.comeBack(await answerAt(provider, location, account));
      if (response.status !== 303)
        throw new Error(`Keep answered ${response.status}: ${await response.text()}`);
      return visitor;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
