/** A claim about the product, and how to prove it. */
export type ShowLine = {
  readonly topic: string;
  readonly line: number;
  readonly title: string;
  readonly needs: readonly Need[];
  /** Files and folders of the tests that prove it, if it is proven by tests. */
  readonly tests?: readonly string[];
  readonly prove: () => Promise<Outcome>;
};

/** A prerequisite that must be on the machine before a claim can be proven. */
export type Need = "debian packages" | "python" | "test models";

export type Outcome = { readonly isProven: boolean; readonly figure: string };
