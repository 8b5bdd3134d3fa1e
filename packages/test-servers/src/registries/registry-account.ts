/** The one account of a registry that asks for a password. */
export const testAccount = {
  name: "tester",
  password: "test-password",
  /** bcrypt with the lowest cost, the only form the registry's password file takes. */
  passwordHash: "$2b$04$SM99doIYK6i3dm0JziRXPu/ocxcrt.t5Uj.FDIoM8KsqbVajAlzui",
};
