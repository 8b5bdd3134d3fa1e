/** Folders with the built console: next to the bundle in an installed package, otherwise in the repository. */
export const consoleFolders: readonly URL[] = ["./console/", "../../../keep-console/dist/"].map(
  (path) => new URL(path, import.meta.url),
);

/** Content-Security-Policy of the console: its own scripts, styles and API, and forms that redirect to the providers. */
export function consolePolicy(providerOrigins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    `form-action ${["'self'", ...providerOrigins].join(" ")}`,
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}
