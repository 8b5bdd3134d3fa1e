/** What Hearth does with the fields of an endpoint that it serves. */
export type ServedEndpoint = {
  /** Fields with an effect. A field inside another has a dot before its name. */
  readonly supported: readonly string[];
  /** Fields that are accepted and named in the header `hearth-ignored`, each with the reason. */
  readonly ignored?: Readonly<Record<string, string>>;
  /** Fields that are rejected with status 400, each with the reason. */
  readonly refused?: Readonly<Record<string, string>>;
  /** The values of `type` of the objects in a field, by the path of the field. */
  readonly variants?: Readonly<Record<string, Omit<ServedEndpoint, "variants">>>;
};

export type FieldTable = {
  readonly served: Readonly<Record<string, ServedEndpoint>>;
  /** Endpoints that are not served, by the beginning of their names, each with the reason. */
  readonly refused: Readonly<Record<string, string>>;
};
