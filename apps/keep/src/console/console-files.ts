/** Where the console's files are: beside the program in a tarball, beside its sources otherwise. */
export const consoleFolders: readonly URL[] = ["./console/", "../../../keep-console/dist/"].map(
  (place) => new URL(place, import.meta.url),
);

/** What the console's page may do: its own scripts, styles and answers, and forms that lead to the providers. */
export function policyOfPage(providerOrigins: readonly string[]): string {
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
