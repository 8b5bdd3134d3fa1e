/** Why a template cannot be rendered; converted to the failure `template-failed`. */
export class TemplateError extends Error {
  /** A limit was exceeded, so probing the template with other messages is pointless. */
  readonly isOverLimit: boolean;

  constructor(reason: string, isOverLimit = false) {
    super(reason);
    this.name = "TemplateError";
    this.isOverLimit = isOverLimit;
  }
}
