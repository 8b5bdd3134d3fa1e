import type { KeepRoute } from "../../route-row.ts";
import { labelOf, type TeamCase } from "./team-cases.ts";
import { type PrincipalName, principalNames } from "./team-fixture.ts";

/** The statuses of successes, and the codes of problems, by principal. */
export type Cells = Readonly<Record<PrincipalName, string>>;

/** By the label of the request. */
type Table = ReadonlyMap<string, Cells>;

export function parseTable(text: string): Table {
  const rows = text
    .split("\n")
    .filter((line) => /^\| (?:GET|PUT|POST|PATCH|DELETE) /u.test(line))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  return new Map(
    rows.map(([label = "", ...cells]) => {
      if (cells.length !== principalNames.length) throw new Error(`${label} has ${cells.length} cells`);
      // One for each principal.
      return [label, Object.fromEntries(principalNames.map((name, index) => [name, cells[index]])) as Cells];
    }),
  );
}

export function renderRow(teamCase: TeamCase, cells: Cells): string {
  return `| ${[labelOf(teamCase), ...principalNames.map((name) => cells[name])].join(" | ")} |`;
}

/** What the reviewed table says that a principal gets, for the derivations below. */
export type Expectation = {
  readonly teamCase: TeamCase;
  readonly route: Pick<KeepRoute, "access">;
  readonly cells: Cells;
  readonly name: PrincipalName;
};

const tokens: ReadonlySet<PrincipalName> = new Set(["organisation token", "own token", "exchanged token"]);

export function isToken(name: PrincipalName): boolean {
  return tokens.has(name);
}

/** Whoever has the same role and no grant. */
const withoutGrant: Partial<Record<PrincipalName, PrincipalName>> = {
  owner: "owner without grant",
  reader: "member",
  editor: "member",
  manager: "member",
  "path reader": "member",
  "path manager": "member",
  "team editor": "member",
};

/** Whether a token is refused whatever the request names: the route needs a session, or a scope that it has nowhere. */
function isAlwaysRefused(cells: Cells, name: PrincipalName): boolean {
  const cell = cells[name];
  // What the token lacks, its owner lacks only in handlers that decide about the object.
  const isOfObject = cells.editor === "insufficient_scope";
  return cell === "session_required" || (cell === "insufficient_scope" && !isOfObject);
}

export function isSuccess(cell: string): boolean {
  return cell.startsWith("2");
}

/** Signed in an hour ago. */
export function expectOfOldSignIn({ route, cells, name }: Expectation): string {
  const isFresh = route.access.startsWith("fresh");
  return isFresh && cells[name] !== "unauthenticated" ? "fresh_sign_in_required" : cells[name];
}

/** From a page of another site. */
export function expectOfOtherSite({ route, cells, name }: Expectation): string {
  return route.access === "public" ? cells[name] : "cross_site";
}

/** Objects of an organisation to which the principal does not belong, and missing ones. */
export function expectOfForeign({ cells, name }: Expectation): string {
  const isUnaffected = name === "exchanged token" || name === "suspended";
  if (isUnaffected || isAlwaysRefused(cells, name)) return cells[name];
  return isToken(name) ? "not_found" : cells.outsider;
}

/** A missing secret, token, grant or person in what the principal knows. */
export function expectOfMissing({ cells, name }: Expectation): string {
  const cell = cells[name];
  return isSuccess(cell) || cell === "out_of_reach" ? "not_found" : cell;
}

/** A vault of the organisation in which only its owners and auditors may do something. */
export function expectOfOtherVault({ cells, name }: Expectation): string {
  if (isToken(name) && name !== "exchanged token")
    return isAlwaysRefused(cells, name) ? cells[name] : "not_found";
  return cells[withoutGrant[name] ?? name];
}

/** Outside the paths of the principals that are limited to some. */
export function expectOfOtherPath({ teamCase, cells, name }: Expectation): string {
  const isLimited = name === "path reader" || name === "path manager";
  const cell = cells[name];
  const isDecidedByPath = isSuccess(cell) || cell === "out_of_reach";
  return isLimited && isDecidedByPath ? (teamCase.outside ?? cell) : cell;
}

/** After the grants, the membership, the token or the trust rule were removed. */
export function expectOfRemoved({ route, cells, name }: Expectation): string {
  if (name === "owner without grant" || name === "member" || name === "auditor") return cells.outsider;
  if (name === "organisation token" || name === "exchanged token") return cells.suspended;
  if (name === "own token") {
    const isUnlimited = route.access === "public" || cells[name] === "session_required";
    const isAnyToken = cells[name] === "200" && !("scope" in route && route.scope !== "any");
    return isUnlimited || isAnyToken ? cells[name] : "insufficient_scope";
  }
  return cells[withoutGrant[name] ?? name];
}
