/** Why a model file is refused. The list is closed: whoever answers a person maps every kind. */
export type ModelFileProblem = {
  readonly kind:
    | "unreadable"
    | "not-gguf"
    | "big-endian"
    | "version-unsupported"
    | "cut-short"
    | "too-large"
    | "count-impossible"
    | "key-invalid"
    | "key-repeated"
    | "key-missing"
    | "value-type-unknown"
    | "value-invalid"
    | "nesting-too-deep"
    | "alignment-invalid"
    | "tensor-name-invalid"
    | "tensor-repeated"
    | "tensor-shape-invalid"
    | "tensor-type-unknown"
    | "tensor-misplaced"
    | "tensor-outside"
    | "padding-invalid"
    | "trailing-bytes"
    | "value-unusable"
    | "vocabulary-inconsistent"
    | "split-inconsistent";
  readonly place: FileLocation;
  /** One sentence for a person, without the file's name. */
  readonly sentence: string;
};

/** Where in the file: the byte when it is known, and the key or tensor being read. */
export type FileLocation = { readonly offset?: number; readonly key?: string; readonly tensor?: string };

export class ModelFileError extends Error {
  readonly problem: ModelFileProblem;

  constructor(problem: ModelFileProblem, options?: ErrorOptions) {
    super(problem.sentence, options);
    this.name = "ModelFileError";
    this.problem = problem;
  }
}

const longestQuote = 80;

/** Text of the file as a sentence may show it: short, and with control characters escaped. */
export function quote(text: string): string {
  return JSON.stringify(text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text);
}
