import { modelFailure } from "../model-failure.ts";
import type { ModelName } from "../model-name.ts";
import type { RegistryPlace } from "./registry-client.ts";

/** Where the registry of a name is. A name that says http needs the request's word for it besides. */
export function placeOf(name: ModelName, isInsecure: boolean): RegistryPlace {
  if (name.scheme === "http" && !isInsecure) {
    throw modelFailure({ kind: "address-forbidden", host: name.host, reason: "plain" });
  }
  return { host: name.host, repository: repositoryOf(name), isPlain: isInsecure };
}

export function repositoryOf({ namespace, model }: ModelName): string {
  return `${namespace}/${model}`;
}
