/** The only account of a registry with authentication. */
export const testAccount = {
  name: "tester",
  password: "test-password",
  /** bcrypt, the only format that the registry's password file supports, with the lowest cost. */
  passwordHash: "$2b$04$SM99doIYK6i3dm0JziRXPu/ocxcrt.t5Uj.FDIoM8KsqbVajAlzui",
};
