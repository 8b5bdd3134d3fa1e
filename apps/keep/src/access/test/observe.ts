import { scopes } from "../../authorization/scopes.ts";
import { examples, fillPath } from "./example-requests.ts";
import {
  type AccessFixture,
  type Credentials,
  makeSide,
  missingObjects,
  type Objects,
  type Principal,
  principals,
  singleScope,
  strangersToAll,
} from "./fixture.ts";

export type Row = { readonly method: string; readonly path: string };

/** What a caller can see of an answer; the request's id, which is always another, is left out. */
type Seen = { readonly status: number; readonly everything: string };

export type Observation = {
  /** One row of the table, by its columns. */
  readonly cells: Readonly<Record<string, string>>;
  readonly calls: number;
  /** Answers about what is not the caller's that differ from another such answer. */
  readonly tellTales: readonly string[];
};

export const columns = ["no credential", "scopes", ...Object.keys(principals)];

/** Everybody tries one route. The stage is set anew whenever somebody changed it. */
export async function observeRow(row: Row, theatre: { stage: AccessFixture }): Promise<Observation> {
  const watch: Watch = { calls: 0, tellTales: [] };
  const cellOf = (principal: Principal) => observeCell(row, principal, { theatre, watch });
  const strangers = new Set<string>();
  for (const principal of Object.values(strangersToAll)) strangers.add(await cellOf(principal));
  const cells: Record<string, string> = { "no credential": [...strangers].join(" or "), scopes: "" };
  for (const [name, principal] of Object.entries(principals)) cells[name] = await cellOf(principal);
  const letIn: string[] = [];
  for (const scope of scopes) {
    const cell = await cellOf(singleScope(scope));
    if (cell === cells["token"]) letIn.push(scope);
    else if (cell !== "403") letIn.push(`${scope} gives ${cell}`);
  }
  const isForNone = letIn.length === 0 || cells["token"] === "403";
  cells["scopes"] = isForNone ? "none" : letIn.length === scopes.length ? "all" : letIn.join(" ");
  return { cells, ...watch };
}

type Watch = { calls: number; readonly tellTales: string[] };

/** Statuses for what is the caller's, and for what is somebody else's or nobody's; one when they are the same. */
async function observeCell(
  row: Row,
  principal: Principal,
  { theatre, watch }: { readonly theatre: { stage: AccessFixture }; readonly watch: Watch },
): Promise<string> {
  const credentials = await principal(theatre.stage);
  const others: Seen[] = [];
  for (const [name, objects] of Object.entries(notOwn(row, theatre.stage))) {
    const seen = await call(row, objects, { stage: theatre.stage, credentials });
    watch.calls += 1;
    const [first = seen] = others;
    // What cannot be an id names nothing, also where a path that is out of reach is found out first.
    const isMalformed = name === "malformed" && seen.status === 404;
    if (!(isMalformed && first.status !== 404) && first.everything !== seen.everything) {
      watch.tellTales.push(`${row.method} ${row.path} (${name}): ${firstDifference(seen, first)}`);
    }
    if (!isMalformed) others.push(seen);
  }
  await examples[`${row.method} ${row.path}`]?.prepare?.(theatre.stage);
  const own = await call(row, theatre.stage.own.objects, { stage: theatre.stage, credentials });
  watch.calls += 1;
  const isPrepared = examples[`${row.method} ${row.path}`]?.prepare !== undefined;
  if (isPrepared || (row.method !== "GET" && own.status < 400)) {
    theatre.stage = { ...theatre.stage, own: await makeSide(theatre.stage.keep) };
  }
  const statuses = [own, ...others].map(({ status }) => status);
  return [...new Set(statuses)].join("/");
}

function firstDifference(one: Seen, other: Seen): string {
  const lines = one.everything.split("\n");
  const otherLines = other.everything.split("\n");
  const place = lines.findIndex((line, index) => line !== otherLines[index]);
  return `${lines[place]} ≠ ${otherLines[place]}`;
}

/** The same route with what belongs to somebody else, with what is not there, and with what cannot be. */
function notOwn({ path }: Row, { own, foreign }: AccessFixture): Readonly<Record<string, Objects>> {
  const names = [...path.matchAll(/:(?<name>\w+)/gu)].flatMap(({ groups }) => groups?.["name"] ?? []);
  const objects = names.filter((name) => name !== "provider");
  if (objects.length === 0) return {};
  const missing = missingObjects();
  const malformed = Object.fromEntries(objects.map((name) => [name, "no-such-thing"]));
  const whole = { foreign: foreign.objects, missing, malformed: { ...missing, ...malformed } };
  if (objects.length === 1) return whole;
  const { vault } = own.objects;
  return {
    ...whole,
    "foreign in own vault": { ...foreign.objects, vault },
    "own in foreign vault": { ...own.objects, vault: foreign.objects.vault },
    "missing in own vault": { ...missing, vault },
  };
}

async function call(
  row: Row,
  objects: Objects,
  { stage, credentials }: { readonly stage: AccessFixture; readonly credentials: Credentials },
): Promise<Seen> {
  const { query = "", body } = examples[`${row.method} ${row.path}`] ?? {};
  const response = await stage.keep.ask(fillPath(row.path, objects) + query, {
    method: row.method,
    // Limits on addresses are not what this is about; the proxy on this address is one that is believed.
    headers: { "x-forwarded-for": nextAddress(), ...credentials },
    ...(body === undefined ? {} : { body: typeof body === "function" ? body(stage) : body }),
  });
  const requestId = response.headers.get("x-request-id") ?? "";
  const headers = [...response.headers]
    .filter(([name]) => !["date", "x-request-id"].includes(name))
    // What is left of a limit goes down with every request.
    .map(([name, value]) => `${name}: ${name === "ratelimit" ? value.replaceAll(/\d+/gu, "n") : value}`);
  const text = (await response.text()).replaceAll(requestId, "the request's id");
  return { status: response.status, everything: [response.status, ...headers, text].join("\n") };
}

let addresses = 0;

function nextAddress(): string {
  addresses += 1;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}
