/** Hosts of one operator: names of models say one of them, the registry speaks at another, tokens come from a third. */
const operators: readonly (readonly string[])[] = [
  ["registry.ollama.ai", "ollama.ai", "ollama.com", "www.ollama.com"],
  ["hf.co", "huggingface.co"],
  ["docker.io", "index.docker.io", "registry-1.docker.io", "auth.docker.io"],
  ["ghcr.io"],
  ["registry.gitlab.com", "gitlab.com"],
];

/** Where the registry of a name's host speaks, when that is another host. */
const speakers: Readonly<Record<string, string>> = {
  "hf.co": "huggingface.co",
  "docker.io": "registry-1.docker.io",
  "index.docker.io": "registry-1.docker.io",
};

/** A host as names say it, with its port, becomes the host that is asked. */
export function registryHost(host: string): string {
  const lowered = host.toLowerCase();
  return Object.hasOwn(speakers, lowered) ? (speakers[lowered] ?? lowered) : lowered;
}

export function areOfOneOperator(first: string, second: string): boolean {
  return operators.some((hosts) => hosts.includes(first) && hosts.includes(second));
}

/** Every name under which credentials for a host may have been kept, the host itself first. */
export function namesOfHost(host: string): readonly string[] {
  return [host, ...(operators.find((hosts) => hosts.includes(host)) ?? []).filter((other) => other !== host)];
}
