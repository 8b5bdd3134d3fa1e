import { type Explanation, exitCodes } from "@hearth-and-keep/command-line";

/** Everything that can be expected to go wrong in Hearth. Each place that answers switches over it exhaustively. */
export type Failure = { readonly kind: "insecure-bind"; readonly host: string };

/** What the person at the terminal reads. */
export function explainFailure(failure: Failure): Explanation {
  switch (failure.kind) {
    case "insecure-bind":
      return {
        sentences: [
          `Cannot listen on ${failure.host}: other machines could use this server without a key; say --allow-insecure-bind if that is what you want`,
        ],
        exitCode: exitCodes.wrongSettings,
      };
  }
}
