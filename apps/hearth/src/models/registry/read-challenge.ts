/** What a 401 asks for. */
export type Challenge =
  | { readonly scheme: "basic" }
  | { readonly scheme: "bearer"; readonly realm: string; readonly service?: string; readonly scope?: string };

const longestHeader = 8192;
/** A word, then optionally `=` and a value: a scheme is a word without one. */
const piecePattern =
  /(?<word>[\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<bare>[^\s",]+)))?/gu;

/** The first challenge that we can meet, from one header or several (RFC 9110, 11.6.1). */
export function readChallenge(header: string | readonly string[] | undefined): Challenge | undefined {
  const text = typeof header === "string" ? header : (header ?? []).join(", ");
  if (text.length > longestHeader) return undefined;
  const challenges: { scheme: string; fields: Map<string, string> }[] = [];
  for (const { groups } of text.matchAll(piecePattern)) {
    const word = (groups?.["word"] ?? "").toLowerCase();
    const value = groups?.["quoted"]?.replaceAll(/\\(.)/gu, "$1") ?? groups?.["bare"];
    if (value === undefined) challenges.push({ scheme: word, fields: new Map() });
    else challenges.at(-1)?.fields.set(word, value);
  }
  return challenges.map(asChallenge).find((challenge) => challenge !== undefined);
}

function asChallenge({
  scheme,
  fields,
}: {
  scheme: string;
  fields: ReadonlyMap<string, string>;
}): Challenge | undefined {
  if (scheme === "basic") return { scheme };
  const realm = fields.get("realm");
  if (scheme !== "bearer" || realm === undefined) return undefined;
  const [service, scope] = [fields.get("service"), fields.get("scope")];
  return {
    scheme,
    realm,
    ...(service === undefined ? {} : { service }),
    ...(scope === undefined ? {} : { scope }),
  };
}
