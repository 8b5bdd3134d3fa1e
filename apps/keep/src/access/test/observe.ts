import { scopes } from "../../authorization/scopes.ts";
import { examples, fillPath } from "./example-requests.ts";
import {
  type AccessFixture,
  type Credentials,
  createTestAccount,
  invalidPrincipals,
  missingObjects,
  type Objects,
  type Principal,
  principals,
  singleScope,
} from "./fixture.ts";

export type Row = { readonly method: string; readonly path: string };

/** Everything that a client sees of a response, except the request id. */
type ObservedResponse = { readonly status: number; readonly content: string };

export type Observation = {
  /** One row of the table, by its columns. */
  readonly cells: Readonly<Record<string, string>>;
  readonly requests: number;
  /** Responses for foreign objects that differ from those for missing ones, and so reveal their existence. */
  readonly leaks: readonly string[];
};

export const columns = ["no credential", "scopes", ...Object.keys(principals)];

type FixtureState = { fixture: AccessFixture };

/** Requests one route as every principal. The account is recreated after each request that changed it. */
export async function observeRow(row: Row, state: FixtureState): Promise<Observation> {
  const totals: Totals = { requests: 0, leaks: [] };
  const observe = (principal: Principal) => observeCell(row, principal, { state, totals });
  const invalidCells = new Set<string>();
  for (const principal of Object.values(invalidPrincipals)) invalidCells.add(await observe(principal));
  const cells: Record<string, string> = { "no credential": [...invalidCells].join(" or "), scopes: "" };
  for (const [name, principal] of Object.entries(principals)) cells[name] = await observe(principal);
  const allowedScopes: string[] = [];
  for (const scope of scopes) {
    const cell = await observe(singleScope(scope));
    if (cell === cells["token"]) allowedScopes.push(scope);
    else if (cell !== "403") allowedScopes.push(`${scope} gives ${cell}`);
  }
  const isAlwaysDenied = allowedScopes.length === 0 || cells["token"] === "403";
  cells["scopes"] = isAlwaysDenied
    ? "none"
    : allowedScopes.length === scopes.length
      ? "all"
      : allowedScopes.join(" ");
  return { cells, ...totals };
}

type Totals = { requests: number; readonly leaks: string[] };

/** Statuses for own and for foreign or missing objects, e.g. `200/404`; a single one when they are equal. */
async function observeCell(
  row: Row,
  principal: Principal,
  { state, totals }: { readonly state: FixtureState; readonly totals: Totals },
): Promise<string> {
  const credentials = await principal(state.fixture);
  const others: ObservedResponse[] = [];
  for (const [name, objects] of Object.entries(otherObjects(row, state.fixture))) {
    const response = await sendRequest(row, objects, { fixture: state.fixture, credentials });
    totals.requests += 1;
    const [first = response] = others;
    // A malformed id is a 404 even where a well-formed id of a path outside the grant would be a 403.
    const isMalformed = name === "malformed" && response.status === 404;
    if (!(isMalformed && first.status !== 404) && first.content !== response.content) {
      totals.leaks.push(`${row.method} ${row.path} (${name}): ${firstDifference(response, first)}`);
    }
    if (!isMalformed) others.push(response);
  }
  await examples[`${row.method} ${row.path}`]?.prepare?.(state.fixture);
  const own = await sendRequest(row, state.fixture.own.objects, { fixture: state.fixture, credentials });
  totals.requests += 1;
  const isPrepared = examples[`${row.method} ${row.path}`]?.prepare !== undefined;
  if (isPrepared || (row.method !== "GET" && own.status < 400)) {
    state.fixture = { ...state.fixture, own: await createTestAccount(state.fixture.keep) };
  }
  const statuses = [own, ...others].map(({ status }) => status);
  return [...new Set(statuses)].join("/");
}

function firstDifference(one: ObservedResponse, other: ObservedResponse): string {
  const lines = one.content.split("\n");
  const otherLines = other.content.split("\n");
  const first = lines.findIndex((line, index) => line !== otherLines[index]);
  return `${lines[first]} ≠ ${otherLines[first]}`;
}

/** Parameters that name another account's objects, missing objects, and malformed ids. */
function otherObjects({ path }: Row, { own, foreign }: AccessFixture): Readonly<Record<string, Objects>> {
  const names = [...path.matchAll(/:(?<name>\w+)/gu)].flatMap(({ groups }) => groups?.["name"] ?? []);
  const objects = names.filter((name) => name !== "provider");
  if (objects.length === 0) return {};
  const missing = missingObjects();
  const malformed = Object.fromEntries(objects.map((name) => [name, "no-such-thing"]));
  const always = { foreign: foreign.objects, missing, malformed: { ...missing, ...malformed } };
  if (objects.length === 1) return always;
  const { vault, organisation } = own.objects;
  const ofForeign = { vault: foreign.objects.vault, organisation: foreign.objects.organisation };
  return {
    ...always,
    "foreign in own vault": { ...foreign.objects, vault, organisation },
    "own in foreign vault": { ...own.objects, ...ofForeign },
    "missing in own vault": { ...missing, vault, organisation },
  };
}

async function sendRequest(
  row: Row,
  objects: Objects,
  { fixture, credentials }: { readonly fixture: AccessFixture; readonly credentials: Credentials },
): Promise<ObservedResponse> {
  const { query = "", body } = examples[`${row.method} ${row.path}`] ?? {};
  const response = await fixture.keep.request(fillPath(row.path, objects) + query, {
    method: row.method,
    // A new address each time, to stay below the rate limits per address; the test's address is a trusted proxy.
    headers: { "x-forwarded-for": nextAddress(), ...credentials },
    ...(body === undefined ? {} : { body: typeof body === "function" ? body(fixture) : body }),
  });
  const requestId = response.headers.get("x-request-id") ?? "";
  const headers = [...response.headers]
    .filter(([name]) => !["date", "x-request-id"].includes(name))
    // The remaining limit changes with every request.
    .map(([name, value]) => `${name}: ${name === "ratelimit" ? value.replaceAll(/\d+/gu, "n") : value}`);
  const text = (await response.text()).replaceAll(requestId, "REQUEST-ID");
  return { status: response.status, content: [response.status, ...headers, text].join("\n") };
}

let addresses = 0;

function nextAddress(): string {
  addresses += 1;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}
