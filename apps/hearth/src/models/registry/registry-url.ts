import { modelFailure } from "../model-failure.ts";
import type { ModelName } from "../model-name.ts";
import type { RegistryAddress } from "./registry-client.ts";

/** The registry of a model name. A name with an http scheme is only allowed when the request is insecure as well. */
export function registryAddressOf(name: ModelName, isInsecure: boolean): RegistryAddress {
  if (name.scheme === "http" && !isInsecure) {
    throw modelFailure({ kind: "address-forbidden", host: name.host, reason: "plain" });
  }
  return { host: name.host, repository: repositoryOf(name), isPlainHttp: isInsecure };
}

export function repositoryOf({ namespace, model }: ModelName): string {
  return `${namespace}/${model}`;
}
