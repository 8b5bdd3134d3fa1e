import type { Tool } from "@hearth-and-keep/engine";

/** The tools of a conversation. Its messages, read in order, change which of them can be called. */
export class Toolset {
  /** All that the request and the messages so far define, by name. */
  readonly #known: Map<string, Tool>;
  /** In the order in which they became callable. */
  readonly #callable: Map<string, Tool>;
  #isChanged = false;

  /** `listed` are in the prompt from the beginning; `deferred` become callable when a message refers to them. */
  constructor(listed: readonly Tool[], deferred: readonly Tool[]) {
    this.#callable = byName(listed);
    this.#known = byName([...listed, ...deferred]);
  }

  /** The tools that can be called now, if they are not those of the beginning. */
  get changedTools(): readonly Tool[] | undefined {
    return this.#isChanged ? this.callable : undefined;
  }

  get callable(): readonly Tool[] {
    return [...this.#callable.values()];
  }

  /** Makes a known tool callable; undefined if there is none of that name. */
  add(name: string): Tool | undefined {
    const tool = this.#known.get(name);
    if (tool !== undefined && !this.#callable.has(name)) this.define(tool);
    return tool;
  }

  define(tool: Tool): void {
    this.#known.set(tool.name, tool);
    this.#callable.set(tool.name, tool);
    this.#isChanged = true;
  }

  remove(name: string): void {
    if (this.#callable.delete(name)) this.#isChanged = true;
  }
}

function byName(tools: readonly Tool[]): Map<string, Tool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}
