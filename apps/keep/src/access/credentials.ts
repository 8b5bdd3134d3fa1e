import type { RequestHead } from "@hearth-and-keep/http-service";

export type Credential = { readonly kind: "token" | "session"; readonly text: string };

/** The request's credential. More than one, of any kind, is ambiguous and rejected. */
export function readCredential(
  headers: RequestHead["headers"],
  sessionCookie: string,
): Credential | "ambiguous" | undefined {
  const tokens = valuesOf(headers["authorization"]).map(
    (text): Credential => ({
      kind: "token",
      text: /^bearer +(?<token>\S+)$/iu.exec(text.trim())?.groups?.["token"] ?? "",
    }),
  );
  const sessions = cookiesOf(headers["cookie"], sessionCookie).map(
    (text): Credential => ({ kind: "session", text }),
  );
  const [first, ...others] = [...tokens, ...sessions];
  return others.length > 0 ? "ambiguous" : first;
}

/** All values of the cookies with this name. */
export function cookiesOf(header: RequestHead["headers"][string], name: string): readonly string[] {
  return valuesOf(header)
    .flatMap((line) => line.split(";"))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
}

function valuesOf(header: RequestHead["headers"][string]): readonly string[] {
  if (header === undefined) return [];
  return typeof header === "string" ? [header] : header;
}
