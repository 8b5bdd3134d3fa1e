export type TomlTable = Readonly<Record<string, unknown>>;

export function tableOf(value: unknown): TomlTable | undefined {
  const isTable = typeof value === "object" && value !== null && !Array.isArray(value);
  // TOML has no other objects than tables and dates, and a date has no fields.
  return isTable ? (value as TomlTable) : undefined;
}

/** Reads one table of a settings file field by field; what is wrong is told, and read as absent. */
export class EntryReader {
  readonly #place: string;
  readonly #table: TomlTable;
  readonly #tell: (sentence: string) => void;

  constructor(place: string, table: TomlTable, tell: (sentence: string) => void) {
    this.#place = place;
    this.#table = table;
    this.#tell = tell;
  }

  /** All of it in one text, the same for the same values. */
  describe(): string {
    return JSON.stringify([this.#place, this.#table]);
  }

  say(key: string, mistake: string): void {
    this.#tell(`"${key === "" ? this.#place : `${this.#place}.${key}`}" ${mistake}`);
  }

  has(key: string): boolean {
    return Object.hasOwn(this.#table, key);
  }

  refuseOthers(known: readonly string[]): void {
    for (const key of Object.keys(this.#table)) if (!known.includes(key)) this.say(key, "is no setting");
  }

  /** A table inside this one. */
  table(key: string): EntryReader | undefined {
    if (!this.has(key)) return undefined;
    const inner = tableOf(this.#table[key]);
    if (inner === undefined) this.say(key, "must be a table");
    return new EntryReader(`${this.#place}.${key}`, inner ?? {}, this.#tell);
  }

  text(key: string, { most }: { readonly most: number }): string | undefined {
    const value = this.#table[key];
    if (value === undefined) return undefined;
    if (typeof value === "string" && value !== "" && value.length <= most) return value;
    this.say(key, `must be a text of 1 to ${most} characters`);
    return undefined;
  }

  wholeNumber(
    key: string,
    { least, most }: { readonly least: number; readonly most: number },
  ): number | undefined {
    const value = this.#table[key];
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
    this.say(key, `must be a whole number from ${least} to ${most}`);
    return undefined;
  }

  choice<Name extends string>(key: string, names: readonly Name[], usual: Name): Name {
    const value = this.#table[key] ?? usual;
    const found = names.find((name) => name === value);
    if (found === undefined) this.say(key, `must be one of ${names.join(", ")}`);
    return found ?? usual;
  }

  choices<Name extends string>(key: string, names: readonly Name[]): readonly Name[] {
    const value = this.#table[key] ?? [];
    const found = names.filter((name) => Array.isArray(value) && value.includes(name));
    const isSound = Array.isArray(value) && value.length === found.length;
    if (!isSound) this.say(key, `must be a list of some of ${names.join(", ")}`);
    return found;
  }

  texts(key: string, { most }: { readonly most: number }): readonly string[] | undefined {
    const value = this.#table[key];
    if (value === undefined) return undefined;
    const isSound = Array.isArray(value) && value.length > 0 && value.length <= most;
    if (isSound && value.every((item) => typeof item === "string" && item.length <= 2048)) return value;
    this.say(key, `must be a list of 1 to ${most} texts`);
    return undefined;
  }
}
