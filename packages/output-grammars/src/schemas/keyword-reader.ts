import { isJsonObject } from "./json-values.ts";
import { unsupported } from "./schema-failure.ts";
import type { Located, TypeName } from "./schema-node.ts";

const typeNames: readonly string[] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/** The keywords of one schema object, each read as what it must be; any other shape is refused by its name. */
export class KeywordReader {
  readonly place: string;
  readonly #keywords: Readonly<Record<string, unknown>>;

  constructor({ schema, place }: Located) {
    if (!isJsonObject(schema)) throw unsupported("schema", place);
    this.place = place;
    this.#keywords = schema;
  }

  has(keyword: string): boolean {
    return Object.hasOwn(this.#keywords, keyword);
  }

  value(keyword: string): unknown {
    return this.has(keyword) ? this.#keywords[keyword] : undefined;
  }

  types(): ReadonlySet<TypeName> | undefined {
    if (!this.has("type")) return undefined;
    const value = this.value("type");
    const names = Array.isArray(value) ? value : [value];
    if (!names.every((name) => typeNames.includes(name))) throw unsupported("type", this.place);
    return new Set(names);
  }

  number(keyword: string): number | undefined {
    return this.#read(keyword, (value) => typeof value === "number" && Number.isFinite(value));
  }

  count(keyword: string): number | undefined {
    return this.#read(keyword, (value) => Number.isInteger(value) && Number(value) >= 0);
  }

  text(keyword: string): string | undefined {
    return this.#read(keyword, (value) => typeof value === "string");
  }

  list(keyword: string): readonly unknown[] | undefined {
    return this.#read(keyword, Array.isArray);
  }

  texts(keyword: string): readonly string[] {
    return this.#read<readonly string[]>(keyword, isTexts) ?? [];
  }

  schema(keyword: string): Located | undefined {
    const schema = this.value(keyword);
    return this.has(keyword) ? { schema, place: `${this.place}/${keyword}` } : undefined;
  }

  schemas(keyword: string): readonly Located[] {
    return (this.list(keyword) ?? []).map((schema, index) => ({
      schema,
      place: `${this.place}/${keyword}/${index}`,
    }));
  }

  properties(): ReadonlyMap<string, Located> {
    const properties = this.#read<Readonly<Record<string, unknown>>>("properties", isJsonObject) ?? {};
    return new Map(
      Object.entries(properties).map(([name, schema]) => {
        const place = `${this.place}/properties/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
        return [name, { schema, place }];
      }),
    );
  }

  #read<Value>(keyword: string, isRight: (value: unknown) => boolean): Value | undefined {
    if (!this.has(keyword)) return undefined;
    const value = this.value(keyword);
    if (!isRight(value)) throw unsupported(keyword, this.place);
    // isRight has just looked at it.
    return value as Value;
  }
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
