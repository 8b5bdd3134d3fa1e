import { isJsonObject } from "./json-values.ts";
import { readSchema } from "./read-schema.ts";
import { isAlwaysTrue } from "./reject-unsupported.ts";
import { type Enforcement, leaveOut, unsupported } from "./schema-failure.ts";
import type { LocatedSchema, SchemaNode } from "./schema-node.ts";

const maxNodes = 5000;

/** A schema with its references; each subschema is read only once. */
export class SchemaDocument {
  readonly enforcement: Enforcement;
  readonly #root: unknown;
  readonly #nodes = new Map<string, SchemaNode>();

  constructor(root: unknown, enforcement: Enforcement) {
    this.#root = root;
    this.enforcement = enforcement;
  }

  get root(): LocatedSchema {
    return { schema: this.#root, pointer: "#" };
  }

  read(located: LocatedSchema): SchemaNode | boolean {
    if (typeof located.schema === "boolean") return located.schema;
    if (isNever(located.schema)) return false;
    const known = this.#nodes.get(located.pointer);
    if (known !== undefined) return known;
    if (this.#nodes.size >= maxNodes) throw unsupported("size", located.pointer);
    const resolve = (reference: string, pointer: string) => this.#resolve(reference, pointer);
    const node = readSchema(located, { resolve, enforcement: this.enforcement });
    this.#nodes.set(located.pointer, node);
    return node;
  }

  /** A reference that cannot be resolved accepts any value, if it may be left out. */
  #resolve(reference: string, pointer: string): LocatedSchema {
    const target = this.#find(reference, pointer);
    if (target !== undefined) return target;
    leaveOut(this.enforcement, { keyword: "$ref", pointer });
    return { schema: true, pointer };
  }

  /** Within the document only: nothing is fetched, and `$anchor` names are not supported. */
  #find(reference: string, pointer: string): LocatedSchema | undefined {
    const [address, fragment = ""] = reference.split("#", 2);
    const ownAddress = isJsonObject(this.#root) ? this.#root["$id"] : undefined;
    const isLocal = address === "" || address === ownAddress;
    if (!isLocal || (fragment !== "" && !fragment.startsWith("/"))) return undefined;
    const segments = decode(fragment, pointer).split("/").slice(1);
    let schema: unknown = this.#root;
    for (const segment of segments) {
      const key = segment.replaceAll("~1", "/").replaceAll("~0", "~");
      // Array indices are own keys too.
      const exists = typeof schema === "object" && schema !== null && Object.hasOwn(schema, key);
      if (!exists) return undefined;
      schema = (schema as Readonly<Record<string, unknown>>)[key]; // just checked to have the key
    }
    return { schema, pointer: ["#", ...segments].join("/") };
  }
}

/** `not` with a schema that accepts everything: no value is valid, and an optional property is absent. */
function isNever(schema: unknown): boolean {
  return isJsonObject(schema) && Object.hasOwn(schema, "not") && isAlwaysTrue(schema["not"]);
}

function decode(fragment: string, pointer: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch (error) {
    throw unsupported("$ref", pointer, error);
  }
}
