import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import { parseJson, SchemaError } from "../store/parse-json.ts";
import { hostAliases } from "./host-aliases.ts";
import { dockerConfigSchema } from "./schema.ts";

export type Credential =
  | { readonly kind: "basic"; readonly name: string; readonly password: string }
  /** Sent as is, without a token server. */
  | { readonly kind: "bearer"; readonly token: string };

/** Each credential is only returned for the host it was stored for. */
export type Credentials = { forHost(host: string): Credential | undefined };

export type CredentialSources = {
  /** The path of Docker's config.json; it may not exist. */
  readonly dockerConfig?: string;
  /** Only for the Hugging Face Hub. */
  readonly hubToken?: string;
};

const hubHost = "huggingface.co";
const maxConfigBytes = 1024 * 1024;
const validator = Compile(dockerConfigSchema);

type DockerConfig = Static<typeof dockerConfigSchema>;
type DockerAuth = NonNullable<DockerConfig["auths"]>[string];

/** Reads all credentials once, at start. Docker's credential helpers are not run. */
export async function readCredentials({ dockerConfig, hubToken }: CredentialSources): Promise<Credentials> {
  const byHost = new Map(dockerConfig === undefined ? [] : await readDockerConfig(dockerConfig));
  if (hubToken !== undefined && hubToken !== "") byHost.set(hubHost, { kind: "bearer", token: hubToken });
  return {
    forHost: (host) =>
      hostAliases(host)
        .map((alias) => byHost.get(alias))
        .find((credential) => credential !== undefined),
  };
}

async function readDockerConfig(path: string): Promise<readonly (readonly [string, Credential])[]> {
  const resolved = path.replace(/^~(?=\/)/u, homedir());
  const status = await stat(resolved).catch(() => undefined);
  if (status?.isFile() !== true || status.size > maxConfigBytes) return [];
  try {
    const { auths = {} } = parseJson(await readFile(resolved), validator);
    return Object.entries(auths).flatMap(([key, auth]) => {
      const credential = toCredential(auth);
      return credential === undefined ? [] : [[hostOfKey(key), credential] as const];
    });
  } catch (error) {
    // The file belongs to another program, so one that we cannot parse is ignored.
    if (error instanceof SchemaError) return [];
    throw error;
  }
}

/** Keys are hosts or URLs, e.g. `https://index.docker.io/v1/`. */
function hostOfKey(key: string): string {
  return (key.replace(/^https?:\/\//u, "").split("/", 1)[0] ?? "").toLowerCase();
}

function toCredential({ auth, username, password }: DockerAuth): Credential | undefined {
  const pair = Buffer.from(auth ?? "", "base64").toString("utf8");
  const colon = pair.indexOf(":");
  if (colon > 0) return { kind: "basic", name: pair.slice(0, colon), password: pair.slice(colon + 1) };
  return username ? { kind: "basic", name: username, password: password ?? "" } : undefined;
}
