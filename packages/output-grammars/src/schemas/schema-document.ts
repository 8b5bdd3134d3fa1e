import { isJsonObject } from "./json-values.ts";
import { readSchema } from "./read-schema.ts";
import { unsupported } from "./schema-failure.ts";
import type { LocatedSchema, SchemaNode } from "./schema-node.ts";

const maxNodes = 5000;

/** A schema with its references; each subschema is read only once. */
export class SchemaDocument {
  readonly #root: unknown;
  readonly #nodes = new Map<string, SchemaNode>();

  constructor(root: unknown) {
    this.#root = root;
  }

  get root(): LocatedSchema {
    return { schema: this.#root, pointer: "#" };
  }

  read(located: LocatedSchema): SchemaNode | boolean {
    if (typeof located.schema === "boolean") return located.schema;
    const known = this.#nodes.get(located.pointer);
    if (known !== undefined) return known;
    if (this.#nodes.size >= maxNodes) throw unsupported("size", located.pointer);
    const node = readSchema(located, (reference, pointer) => this.#resolve(reference, pointer));
    this.#nodes.set(located.pointer, node);
    return node;
  }

  /** Resolves references within the document only: nothing is fetched, and `$anchor` names are not supported. */
  #resolve(reference: string, pointer: string): LocatedSchema {
    const [address, fragment = ""] = reference.split("#", 2);
    const ownAddress = isJsonObject(this.#root) ? this.#root["$id"] : undefined;
    const isLocal = address === "" || address === ownAddress;
    if (!isLocal || (fragment !== "" && !fragment.startsWith("/"))) throw unsupported("$ref", pointer);
    const segments = decode(fragment, pointer).split("/").slice(1);
    let schema: unknown = this.#root;
    for (const segment of segments) {
      const key = segment.replaceAll("~1", "/").replaceAll("~0", "~");
      // Array indices are own keys too.
      const exists = typeof schema === "object" && schema !== null && Object.hasOwn(schema, key);
      if (!exists) throw unsupported("$ref", pointer);
      schema = (schema as Readonly<Record<string, unknown>>)[key]; // just checked to have the key
    }
    return { schema, pointer: ["#", ...segments].join("/") };
  }
}

function decode(fragment: string, pointer: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch (error) {
    throw unsupported("$ref", pointer, error);
  }
}
