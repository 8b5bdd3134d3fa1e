import type { AddressLimit } from "./access/rate-limits.ts";

/** Of public routes, per client address; many people and machines may share one. */
export const addressLimits = {
  /** Covers both requests of a sign-in; many people may share one address. */
  signIn: { name: "sign-in", perMinute: 600 },
  /** One report carries up to 100 tokens. */
  leakReport: { name: "leaked", perMinute: 20 },
  /** Many jobs may share one. */
  exchange: { name: "exchange", perMinute: 300 },
  /** Covers both requests of a person who approves a command line. */
  authorize: { name: "authorize", perMinute: 60 },
  /** Nobody types more user codes. Covers both requests of a person who approves. */
  userCode: { name: "user-code", perMinute: 10 },
  /** Many machines may share one. */
  deviceLogin: { name: "device-login", perMinute: 30 },
  /** A machine asks every five seconds whether its login was approved. */
  loginToken: { name: "login-token", perMinute: 300 },
  /** Nobody types more of them. */
  operatorCode: { name: "operator-code", perMinute: 10 },
  /** Covers both requests of a person who accepts. */
  invitation: { name: "invitation", perMinute: 60 },
  /** The document is large and never changes. */
  document: { name: "openapi", perMinute: 60 },
} as const satisfies Readonly<Record<string, AddressLimit>>;

/** A token of the largest accepted size, with every character escaped. */
export const maxExchangeBytes = 65_536;

export const maxLoginBytes = 4096;
