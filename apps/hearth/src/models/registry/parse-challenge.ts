/** The authentication that a 401 response requires. */
export type Challenge =
  | { readonly scheme: "basic" }
  | { readonly scheme: "bearer"; readonly realm: string; readonly service?: string; readonly scope?: string };

const maxHeaderLength = 8192;
/** A token, optionally followed by `=` and a value: a scheme is a token without a value. */
const tokenPattern =
  /(?<name>[\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<bare>[^\s",]+)))?/gu;

/** The first challenge that we support, from one or several header fields (RFC 9110, 11.6.1). */
export function parseChallenge(header: string | readonly string[] | undefined): Challenge | undefined {
  const text = typeof header === "string" ? header : (header ?? []).join(", ");
  if (text.length > maxHeaderLength) return undefined;
  const challenges: ParsedChallenge[] = [];
  for (const { groups } of text.matchAll(tokenPattern)) {
    const name = (groups?.["name"] ?? "").toLowerCase();
    const value = groups?.["quoted"]?.replaceAll(/\\(.)/gu, "$1") ?? groups?.["bare"];
    if (value === undefined) challenges.push({ scheme: name, parameters: new Map() });
    else challenges.at(-1)?.parameters.set(name, value);
  }
  return challenges.map(toChallenge).find((challenge) => challenge !== undefined);
}

type ParsedChallenge = { readonly scheme: string; readonly parameters: Map<string, string> };

function toChallenge({ scheme, parameters }: ParsedChallenge): Challenge | undefined {
  if (scheme === "basic") return { scheme };
  const realm = parameters.get("realm");
  if (scheme !== "bearer" || realm === undefined) return undefined;
  const [service, scope] = [parameters.get("service"), parameters.get("scope")];
  return {
    scheme,
    realm,
    ...(service === undefined ? {} : { service }),
    ...(scope === undefined ? {} : { scope }),
  };
}
