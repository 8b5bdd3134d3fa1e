/** Why a template cannot be rendered; it leaves the folder as the failure `template-failed`. */
export class TemplateError extends Error {
  /** A limit was reached: unlike a wrong template, trying it with other messages is no use. */
  readonly isOverLimit: boolean;

  constructor(reason: string, isOverLimit = false) {
    super(reason);
    this.name = "TemplateError";
    this.isOverLimit = isOverLimit;
  }
}
