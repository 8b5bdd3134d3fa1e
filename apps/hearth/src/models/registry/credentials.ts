import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { asFields, type JsonFields, parseFields, ShapeError, textField } from "../store/json-fields.ts";
import { namesOfHost } from "./known-hosts.ts";

export type Credential =
  | { readonly kind: "basic"; readonly name: string; readonly password: string }
  /** Sent as it is, without asking a token server. */
  | { readonly kind: "bearer"; readonly token: string };

/** What we may show to whom; each only to the host that it was kept for. */
export type Credentials = { forHost(host: string): Credential | undefined };

export type CredentialSources = {
  /** Docker's configuration; a file that is not there holds none. */
  readonly dockerConfig?: string;
  /** For the Hugging Face Hub alone. */
  readonly hubToken?: string;
};

const hubHost = "huggingface.co";
const mostConfigBytes = 1024 * 1024;
const longestText = 64 * 1024;

/** Read once, at start. Programs that Docker calls for credentials are not called. */
export async function readCredentials({ dockerConfig, hubToken }: CredentialSources): Promise<Credentials> {
  const kept = new Map(dockerConfig === undefined ? [] : await readDockerConfig(dockerConfig));
  if (hubToken !== undefined && hubToken !== "") kept.set(hubHost, { kind: "bearer", token: hubToken });
  return {
    forHost: (host) =>
      namesOfHost(host)
        .map((name) => kept.get(name))
        .find((credential) => credential !== undefined),
  };
}

async function readDockerConfig(path: string): Promise<readonly (readonly [string, Credential])[]> {
  const place = path.replace(/^~(?=\/)/u, homedir());
  const status = await stat(place).catch(() => undefined);
  if (status?.isFile() !== true || status.size > mostConfigBytes) return [];
  try {
    const { auths } = parseFields(await readFile(place));
    if (auths === undefined) return [];
    return Object.entries(asFields(auths, "auths")).flatMap(([key, value]) => {
      const credential = readEntry(asFields(value, "an entry"));
      return credential === undefined ? [] : [[hostOfKey(key), credential] as const];
    });
  } catch (problem) {
    // Another program's file: what cannot be read holds no credentials.
    if (problem instanceof ShapeError) return [];
    throw problem;
  }
}

/** Keys are hosts, or addresses as in `https://index.docker.io/v1/`. */
function hostOfKey(key: string): string {
  return (key.replace(/^https?:\/\//u, "").split("/", 1)[0] ?? "").toLowerCase();
}

/** `auth` is the base64 of name and password with a colon between. */
function readEntry(fields: JsonFields): Credential | undefined {
  const pair = Buffer.from(textField(fields, "auth", longestText) ?? "", "base64").toString("utf8");
  const colon = pair.indexOf(":");
  const name = colon > 0 ? pair.slice(0, colon) : (textField(fields, "username", longestText) ?? "");
  const password = colon > 0 ? pair.slice(colon + 1) : (textField(fields, "password", longestText) ?? "");
  return name === "" ? undefined : { kind: "basic", name, password };
}
