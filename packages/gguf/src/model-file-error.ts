/** Why a model file is rejected. The union is closed, so that callers can map every kind. */
export type ModelFileErrorDetail = {
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
  readonly location: FileLocation;
  /** Text for the user, without the file name. */
  readonly message: string;
};

/** Position in the file: the byte offset if known, and the key or tensor being read. */
export type FileLocation = { readonly offset?: number; readonly key?: string; readonly tensor?: string };

export class ModelFileError extends Error {
  readonly detail: ModelFileErrorDetail;

  constructor(detail: ModelFileErrorDetail, options?: ErrorOptions) {
    super(detail.message, options);
    this.name = "ModelFileError";
    this.detail = detail;
  }
}

const maxQuoteCharacters = 80;

/** Quotes text from the file for an error message: shortened, with control characters escaped. */
export function quote(text: string): string {
  return JSON.stringify(text.length > maxQuoteCharacters ? `${text.slice(0, maxQuoteCharacters)}…` : text);
}
