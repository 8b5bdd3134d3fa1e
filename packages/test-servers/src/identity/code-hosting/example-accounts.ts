import type { CodeHostingAccount } from "./accounts.ts";

/** The primary e-mail address is private, as for most users. */
export const privatePerson: CodeHostingAccount = {
  id: 201,
  login: "first",
  name: "First Account",
  emails: [
    { email: "old@example.com", primary: false, verified: true, visibility: null },
    { email: "first@example.com", primary: true, verified: true, visibility: "private" },
  ],
};

export const publicPerson: CodeHostingAccount = {
  id: 202,
  login: "second",
  name: null,
  emails: [{ email: "second@example.org", primary: true, verified: true, visibility: "public" }],
};

export const unverifiedPerson: CodeHostingAccount = {
  id: 203,
  login: "third",
  name: null,
  emails: [{ email: "third@example.net", primary: true, verified: false, visibility: "private" }],
};
