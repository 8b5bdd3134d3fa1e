/** One line of an issue's "must show" list: a claim about the product, and the way to prove it. */
export type ShowLine = {
  readonly topic: string;
  readonly line: number;
  readonly title: string;
  readonly needs: readonly Need[];
  /** Files and folders of the tests that prove it, when tests do. */
  readonly tests?: readonly string[];
  readonly prove: () => Promise<Outcome>;
};

/** What a claim needs on the machine before it can be proven. */
export type Need = "debian packages" | "python" | "test models";

export type Outcome = { readonly isProven: boolean; readonly figure: string };
