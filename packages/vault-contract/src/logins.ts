import { type Static, Type } from "typebox";
import { described } from "./described.ts";
import { closed, id } from "./shared-fields.ts";

export const maxMachineCharacters = 64;

/** The format of `generateRandomToken`. */
const random = (description: string) =>
  Type.String({
    pattern: "^[A-Za-z0-9_-]{43}$",
    maxLength: 43,
    description,
    "x-expected": "43 characters of base64url",
  });

/** Of characters that need no escaping in a URL. */
const machine = Type.String({
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$",
  maxLength: maxMachineCharacters,
  description: "Name of the machine that asks, shown to the person",
  "x-expected": "a host name",
});

const permission = Type.Enum(["read", "write"], {
  description: "Whether the token may read secrets, or read and write them",
});

export type LoginPermission = Static<typeof permission>;

const port = Type.String({
  pattern:
    "^(?:102[4-9]|10[3-9][0-9]|1[1-9][0-9]{2}|[2-9][0-9]{3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$",
  maxLength: 5,
  description: "Port on 127.0.0.1 to which the browser is redirected with a one-time code",
  "x-expected": "a port from 1024 to 65535",
});

const redirectFields = {
  port,
  state: random("Returned with the code, so that the program recognizes its own request"),
  code_challenge: random("SHA-256 of the verifier with which the code is exchanged (RFC 7636, S256)"),
  machine,
  permission,
};

/** Query of the page on which a person allows a command line to use their account. */
export const authorizeQuery = Type.Object(redirectFields, {
  ...closed,
  title: "AuthorizeQuery",
  description: "A request of a command line for a token of the person in the browser",
});

export type AuthorizeQuery = Static<typeof authorizeQuery>;

const decisionFields = {
  signed_in: described(id, "Account that the page was shown to; another session cannot submit it"),
  account: described(id, "Account in which the token is created: the person's own, or an organisation"),
  decision: Type.Enum(["approve", "deny"], { description: "What the person decided" }),
};

export const authorizeDecision = Type.Object(
  { ...redirectFields, ...decisionFields },
  { ...closed, title: "AuthorizeDecision", description: "The form of the page" },
);

export type AuthorizeDecision = Static<typeof authorizeDecision>;

/** As typed: in either case, with or without the hyphen. */
const userCode = Type.String({
  minLength: 1,
  maxLength: 32,
  pattern: "^[A-Za-z -]+$",
  description: "Code that the command line shows, e.g. BCDF-GHJK",
  "x-expected": "the code that the command line shows, such as BCDF-GHJK",
});

export const deviceQuery = Type.Object(
  { user_code: Type.Optional(userCode) },
  { ...closed, title: "DeviceQuery", description: "The code, if the link contains it" },
);

export const deviceDecision = Type.Object(
  { user_code: userCode, ...decisionFields },
  { ...closed, title: "DeviceDecision", description: "The form of the page" },
);

export type DeviceDecision = Static<typeof deviceDecision>;

/** RFC 8628 section 3.1. */
export const newDeviceLogin = Type.Object(
  { machine, permission },
  { title: "NewDeviceLogin", description: "A request of a command line on a machine without a browser" },
);

/** RFC 8628 section 3.2. */
export const deviceLogin = Type.Object(
  {
    device_code: random("For the requests for the token"),
    user_code: described(userCode, "The person compares it with the code that the page shows"),
    verification_uri: Type.String({ maxLength: 2048, description: "Page on which the code is entered" }),
    verification_uri_complete: Type.String({ maxLength: 2048, description: "The page with the code" }),
    expires_in: Type.Integer({ minimum: 0, maximum: 3600, description: "Seconds until the codes expire" }),
    interval: Type.Integer({
      minimum: 1,
      maximum: 60,
      description: "Seconds between requests for the token",
    }),
  },
  { ...closed, title: "DeviceLogin", description: "A login that waits for a person (RFC 8628)" },
);

export type DeviceLogin = Static<typeof deviceLogin>;

export const codeGrant = "authorization_code";
export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** RFC 6749 section 4.1.3 with the verifier of RFC 7636, or RFC 8628 section 3.4. Other fields are ignored. */
export const loginExchange = Type.Union(
  [
    Type.Object(
      {
        grant_type: Type.Enum([codeGrant], { description: "With the code of the redirect" }),
        code: random("Code of the redirect; a second use fails"),
        code_verifier: random("The verifier of the challenge"),
      },
      { title: "CodeExchange", description: "With the code of a redirect" },
    ),
    Type.Object(
      {
        grant_type: Type.Enum([deviceGrant], { description: "With a device code" }),
        device_code: random("The device code"),
      },
      { title: "DeviceCodeExchange", description: "With a device code" },
    ),
  ],
  { title: "LoginExchange", description: "A request for the token of an approved login" },
);

export type LoginExchange = Static<typeof loginExchange>;

export const loginToken = Type.Object(
  {
    access_token: Type.String({
      pattern: "^sk-svc-[0-9A-Za-z]{49}$",
      description: "Token of Keep; returned only in this response",
    }),
    token_type: Type.Enum(["Bearer"], { description: "Sent as `Authorization: Bearer …`" }),
    expires_in: Type.Integer({ minimum: 0, maximum: 31_622_400, description: "Seconds until it expires" }),
    scope: Type.String({ maxLength: 512, description: "Scopes of the token, with spaces between them" }),
    account: Type.Object(
      {
        id: described(id, "Id of the account"),
        name: Type.String({ maxLength: 255, description: "Name of the person or the organisation" }),
        kind: Type.Enum(["person", "organisation"], { description: "What it is" }),
      },
      { ...closed, title: "LoginAccount", description: "Account that the token is in" },
    ),
    person: Type.String({ maxLength: 255, description: "Name of the person who approved" }),
  },
  { ...closed, title: "LoginToken", description: "The token of an approved login" },
);

export type LoginToken = Static<typeof loginToken>;

export const loginError = Type.Object(
  {
    error: Type.Enum(
      [
        "invalid_request",
        "invalid_grant",
        "authorization_pending",
        "slow_down",
        "access_denied",
        "expired_token",
      ],
      { description: "What happened, for programs" },
    ),
    error_description: Type.String({ maxLength: 2048, description: "What happened, for people" }),
  },
  {
    ...closed,
    title: "LoginError",
    description: "A refused login (RFC 6749 section 5.2, RFC 8628 section 3.5)",
  },
);

export type LoginError = Static<typeof loginError>;
