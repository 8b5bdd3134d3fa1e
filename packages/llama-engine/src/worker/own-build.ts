import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The binding's name for its build for the processor of this machine. */
const usualBuild = `@node-llama-cpp/${process.platform}-${process.arch}`;

/**
 * Has the binding find a build made on this machine where it looks for the one that came with it. The folder is laid
 * out as that package is; a build for a GPU has another name and goes before it, as ever.
 */
export function useOwnBuild(folder: string): void {
  const url = pathToFileURL(join(folder, "index.js")).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === usualBuild ? { url, shortCircuit: true } : next(specifier, context),
  });
}
