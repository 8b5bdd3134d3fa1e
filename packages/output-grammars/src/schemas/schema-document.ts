import { isJsonObject } from "./json-values.ts";
import { readSchema } from "./read-schema.ts";
import { unsupported } from "./schema-failure.ts";
import type { Located, SchemaNode } from "./schema-node.ts";

const mostNodes = 5000;

/** A whole schema with its references; each of its parts is read once. */
export class SchemaDocument {
  readonly #root: unknown;
  readonly #nodes = new Map<string, SchemaNode>();

  constructor(root: unknown) {
    this.#root = root;
  }

  get root(): Located {
    return { schema: this.#root, place: "#" };
  }

  read(located: Located): SchemaNode | boolean {
    if (typeof located.schema === "boolean") return located.schema;
    const known = this.#nodes.get(located.place);
    if (known !== undefined) return known;
    if (this.#nodes.size >= mostNodes) throw unsupported("size", located.place);
    const node = readSchema(located, (reference, place) => this.#resolve(reference, place));
    this.#nodes.set(located.place, node);
    return node;
  }

  /** Only references within the document: nothing is fetched, and names given by `$anchor` are not looked up. */
  #resolve(reference: string, place: string): Located {
    const [address, fragment = ""] = reference.split("#", 2);
    const ownAddress = isJsonObject(this.#root) ? this.#root["$id"] : undefined;
    const isOwn = address === "" || address === ownAddress;
    if (!isOwn || (fragment !== "" && !fragment.startsWith("/"))) throw unsupported("$ref", place);
    const segments = decode(fragment, place).split("/").slice(1);
    let schema: unknown = this.#root;
    for (const segment of segments) {
      const key = segment.replaceAll("~1", "/").replaceAll("~0", "~");
      // An array is walked by its index, which is a key of its own.
      const isStep = typeof schema === "object" && schema !== null && Object.hasOwn(schema, key);
      if (!isStep) throw unsupported("$ref", place);
      schema = (schema as Readonly<Record<string, unknown>>)[key]; // it has the key, as just seen
    }
    return { schema, place: ["#", ...segments].join("/") };
  }
}

function decode(fragment: string, place: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch (error) {
    throw unsupported("$ref", place, error);
  }
}
