export type KeyCommandProblem =
  | { readonly kind: "not-found" }
  | { readonly kind: "not-executable" }
  | { readonly kind: "timed-out"; readonly seconds: number }
  | { readonly kind: "too-long"; readonly maxBytes: number }
  /** `errorText` is what it wrote to standard error, shortened. */
  | { readonly kind: "exited"; readonly code: number; readonly errorText: string }
  | { readonly kind: "killed"; readonly signal: string }
  | { readonly kind: "no-key" };

/** Completes "the program …". */
export function describeProblem(problem: KeyCommandProblem): string {
  switch (problem.kind) {
    case "not-found":
      return "was not found; install it, or name it with its path";
    case "not-executable":
      return "cannot be executed by this user";
    case "timed-out":
      return `did not finish within ${problem.seconds} seconds; check that what it connects to can be reached`;
    case "too-long":
      return `printed more than ${problem.maxBytes} bytes, which is no encryption key`;
    case "exited":
      return `exited with code ${problem.code}${problem.errorText === "" ? " and no error message" : `: ${problem.errorText}`}`;
    case "killed":
      return `was ended by ${problem.signal}`;
    case "no-key":
      return "printed something else than keys of 32 bytes in base64";
  }
}

const maxCharacters = 300;

/**
 * What a program wrote to standard error, on one line. Whatever is long enough to be a key in base64 or hexadecimal is
 * hidden, because a tool may print what it works on.
 */
export function shortenErrorText(text: string): string {
  const line = text
    .replaceAll(/[A-Za-z0-9+/=]{40,}/gu, "[hidden]")
    .replaceAll(/[\s\p{C}]+/gu, " ")
    .trim();
  return line.length > maxCharacters ? `${line.slice(0, maxCharacters)}…` : line;
}
