/** Host names of the same operator: model names, registry API and token server can each use a different one. */
const operators: readonly (readonly string[])[] = [
  ["registry.ollama.ai", "ollama.ai", "ollama.com", "www.ollama.com"],
  ["hf.co", "huggingface.co"],
  ["docker.io", "index.docker.io", "registry-1.docker.io", "auth.docker.io"],
  ["ghcr.io"],
  ["registry.gitlab.com", "gitlab.com"],
];

export function haveSameOperator(first: string, second: string): boolean {
  return operators.some((hosts) => hosts.includes(first) && hosts.includes(second));
}

/** Every host under which credentials for a host may be stored, the host itself first. */
export function hostAliases(host: string): readonly string[] {
  return [host, ...(operators.find((hosts) => hosts.includes(host)) ?? []).filter((other) => other !== host)];
}
