import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The npm package with the binding's prebuilt binary for this platform. */
const prebuiltPackage = `@node-llama-cpp/${process.platform}-${process.arch}`;

/**
 * Makes the binding load a local build in place of its prebuilt package, which has the same layout. GPU builds have
 * other package names and still take precedence.
 */
export function useLocalBuild(folder: string): void {
  const url = pathToFileURL(join(folder, "index.js")).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === prebuiltPackage ? { url, shortCircuit: true } : next(specifier, context),
  });
}

/** Makes the binding find its packages for a GPU, which are not installed beside it. */
export function useGpuPackages(folder: string): void {
  const scope = "@node-llama-cpp/";
  registerHooks({
    resolve: (specifier, context, next) => {
      const entry = join(folder, "node_modules", specifier, "dist", "index.js");
      return specifier.startsWith(scope) && existsSync(entry)
        ? { url: pathToFileURL(entry).href, shortCircuit: true }
        : next(specifier, context);
    },
  });
}

/**
 * The binding tries its binary in a process of its own first, which the sandbox forbids. A binary that crashes here
 * harms nobody else. A bundle skips the test by itself.
 */
export function skipBinaryTest(): void {
  registerHooks({
    load: (url, context, next) =>
      url.endsWith("/utils/testBindingBinary.js")
        ? {
            format: "module",
            source: "export const testBindingBinary = async () => true;",
            shortCircuit: true,
          }
        : next(url, context),
  });
}
