export type AccountEmail = {
  readonly email: string;
  readonly primary: boolean;
  readonly verified: boolean;
  readonly visibility: "public" | "private" | null;
};

/** In an organization, or with a team in one of its teams. */
type Membership = {
  readonly organization: string;
  readonly team?: string;
  /** Blocked: the organization has not approved the application. */
  readonly state: "active" | "pending" | "blocked";
};

export type CodeHostingAccount = {
  /** Never changes, unlike the login, which its owner may release for another person. */
  readonly id: number;
  readonly login: string;
  readonly name: string | null;
  readonly emails: readonly AccountEmail[];
  readonly memberships?: readonly Membership[];
};

export type CodeHostingAccounts = {
  put(account: CodeHostingAccount): void;
  findById(id: number): CodeHostingAccount | undefined;
  remove(id: number): void;
  list(): readonly CodeHostingAccount[];
  /** By the text typed on the sign-in page: the login or one of the e-mail addresses. */
  findByEntry(entry: string): CodeHostingAccount | undefined;
};

export function createAccounts(initial: readonly CodeHostingAccount[]): CodeHostingAccounts {
  const accounts = new Map(initial.map((account) => [account.id, account]));
  return {
    put: (account) => void accounts.set(account.id, account),
    findById: (id) => accounts.get(id),
    remove: (id) => void accounts.delete(id),
    list: () => [...accounts.values()],
    findByEntry: (entry) =>
      [...accounts.values()].find(
        ({ login, emails }) => login === entry || emails.some(({ email }) => email === entry),
      ),
  };
}

export function hasVerifiedPrimaryEmail(account: CodeHostingAccount): boolean {
  return account.emails.some(({ primary, verified }) => primary && verified);
}

/** The response of `GET /user`, with the e-mail address only if it is public. */
export function describeUser(account: CodeHostingAccount, origin: string): Readonly<Record<string, unknown>> {
  return {
    login: account.login,
    id: account.id,
    node_id: Buffer.from(`04:User${account.id}`).toString("base64"),
    url: `${origin}/users/${account.login}`,
    html_url: `${origin}/${account.login}`,
    type: "User",
    site_admin: false,
    name: account.name,
    company: null,
    email: account.emails.find(({ visibility }) => visibility === "public")?.email ?? null,
  };
}
