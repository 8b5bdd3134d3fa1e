/** Placeholders, as the program in the sandbox finds them. */
export function readPlaceholder(name: "GITHUB_TOKEN" | "STRIPE_KEY"): string {
  return process.env[name] ?? "";
}

export function describeEnvironment(): string {
  return JSON.stringify(process.env);
}
