import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { routes } from "../routes.ts";
import { startTestServer } from "../test/start-test-server.ts";
import { accessKey } from "./keys.ts";
import { sendRaw } from "./test/raw-request.ts";

const rightKey = "canary-right";

type Row = { readonly method: string; readonly path: string };
type Credential = {
  readonly what: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly query: string;
  readonly isAccepted: boolean;
};

const forms: Readonly<Record<string, (key: string) => Partial<Credential>>> = {
  Bearer: (key) => ({ headers: [["authorization", `Bearer ${key}`]] }),
  "x-api-key": (key) => ({ headers: [["x-api-key", key]] }),
  Basic: (key) => ({ headers: [["authorization", `Basic ${btoa(`somebody:${key}`)}`]] }),
  query: (key) => ({ query: `?api_key=${key}&key=${key}&access_token=${key}` }),
  cookie: (key) => ({ headers: [["cookie", `api_key=${key}; authorization=${key}; key=${key}`]] }),
};

const noCredential: Credential = { what: "no key", headers: [], query: "", isAccepted: false };
const credentials: readonly Credential[] = [
  noCredential,
  ...Object.entries(forms).flatMap(([form, write]) => [
    { ...noCredential, ...write("canary-wrong"), what: `wrong key in ${form}` },
    {
      ...noCredential,
      ...write(rightKey),
      what: `right key in ${form}`,
      isAccepted: ["Bearer", "x-api-key", "Basic"].includes(form),
    },
  ]),
];

const spellings: Readonly<Record<string, (path: string) => string>> = {
  plain: (path) => path,
  "double slash": (path) => `/${path}`,
  "double slash inside": (path) => path.replace(/(?<=.)\//u, "//"),
  encoded: (path) => path.replace(/[a-z]/u, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  "encoded slash": (path) => path.replace(/(?<=.)\//u, "%2f"),
  capitals: (path) => path.toUpperCase(),
  "trailing slash": (path) => `${path}/`,
  "dot segments": (path) => `/x/..${path}`,
  "encoded dot segments": (path) => `/x/%2e%2e${path}`,
  semicolon: (path) => `${path};x=1`,
  "broken escape": (path) => `${path}%zz`,
};

/** Fills in parameters and wildcards with a name that does not exist. */
function concrete({ path }: Row): string {
  return path.replace(/\*$/u, "nowhere").replace(/:[a-z]+/u, "nowhere");
}

/** The row that a path matches: percent-escapes are decoded, nothing else is normalized, and a parameter may be empty. */
function rowFor(method: string, spelled: string): Row | undefined {
  const segments = spelled.split("/");
  return routes.find((row) => {
    const pattern = row.path.split("/");
    const hasWildcard = pattern.at(-1) === "*";
    if (
      row.method !== method ||
      (hasWildcard ? segments.length < pattern.length : segments.length !== pattern.length)
    ) {
      return false;
    }
    return pattern.every((part, index) => {
      const segment = segments[index] ?? "";
      return part === "*" || part.startsWith(":") || part === decode(segment);
    });
  });
}

function decode(segment: string): string {
  return segment.replace(/%(?<code>[0-7][0-9a-f])/giu, (escape, code: string) =>
    code.toLowerCase() === "2f" ? escape : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** An accepted request fails because its body is not JSON, or because the name does not exist. */
function expectedStatus(method: string, spelled: string, { isAccepted }: Credential): number {
  if (!isAccepted) return 401;
  const row = spelled.includes("%zz") ? undefined : rowFor(method, spelled);
  if (row === undefined) return isMatchedByOther(method, spelled) ? 405 : 404;
  if (method !== "GET") return 400;
  return /[*:]/u.test(row.path) ? 404 : 200;
}

function isMatchedByOther(method: string, spelled: string): boolean {
  const others = new Set(routes.map((row) => row.method)).difference(new Set([method]));
  return !spelled.includes("%zz") && [...others].some((other) => rowFor(other, spelled) !== undefined);
}

test("every route requires the key in every spelling of its path, and accepts it in three headers only", {
  timeout: 240_000,
}, async () => {
  await using server = await startTestServer({
    models: {},
    script: () => [],
    access: { keys: [accessKey("one", rightKey)] },
  });
  const found: string[] = [];
  const expected: string[] = [];
  for (const row of routes) {
    for (const [spelling, spell] of Object.entries(spellings)) {
      const spelled = spell(concrete(row));
      const responses = credentials.map(async (credential) => {
        const { status } = await sendRaw(server.url, {
          method: row.method,
          path: `${spelled}${credential.query}`,
          headers: [["host", "localhost"], ...credential.headers],
          ...(row.method === "GET" ? {} : { body: "{" }),
        });
        const line = `${row.method} ${row.path}, ${spelling}, ${credential.what}`;
        expected.push(`${line}: ${expectedStatus(row.method, spelled, credential)}`);
        found.push(`${line}: ${status}`);
      });
      await Promise.all(responses);
    }
  }
  expect(found).toEqual(expected);
  recordFigure({
    claim: "families 4",
    text: `${found.length} requests on ${routes.length} routes accepted or rejected as expected`,
    counted: { reached: found.length, needed: routes.length * credentials.length },
  });
});
