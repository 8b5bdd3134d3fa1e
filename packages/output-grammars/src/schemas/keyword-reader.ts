import { isJsonObject } from "./json-values.ts";
import { unsupported } from "./schema-failure.ts";
import type { LocatedSchema, TypeName } from "./schema-node.ts";

const typeNames: readonly string[] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/** Reads the keywords of one schema object; a keyword of the wrong type is rejected by name. */
export class KeywordReader {
  readonly pointer: string;
  readonly #keywords: Readonly<Record<string, unknown>>;

  constructor({ schema, pointer }: LocatedSchema) {
    if (!isJsonObject(schema)) throw unsupported("schema", pointer);
    this.pointer = pointer;
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
    if (!names.every((name) => typeNames.includes(name))) throw unsupported("type", this.pointer);
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
    return this.#read<readonly string[]>(keyword, isStringList) ?? [];
  }

  schema(keyword: string): LocatedSchema | undefined {
    const schema = this.value(keyword);
    return this.has(keyword) ? { schema, pointer: `${this.pointer}/${keyword}` } : undefined;
  }

  schemas(keyword: string): readonly LocatedSchema[] {
    return (this.list(keyword) ?? []).map((schema, index) => ({
      schema,
      pointer: `${this.pointer}/${keyword}/${index}`,
    }));
  }

  properties(): ReadonlyMap<string, LocatedSchema> {
    const properties = this.#read<Readonly<Record<string, unknown>>>("properties", isJsonObject) ?? {};
    return new Map(
      Object.entries(properties).map(([name, schema]) => {
        const pointer = `${this.pointer}/properties/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
        return [name, { schema, pointer }];
      }),
    );
  }

  #read<Value>(keyword: string, isValid: (value: unknown) => boolean): Value | undefined {
    if (!this.has(keyword)) return undefined;
    const value = this.value(keyword);
    if (!isValid(value)) throw unsupported(keyword, this.pointer);
    // Just checked by isValid.
    return value as Value;
  }
}

function isStringList(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
