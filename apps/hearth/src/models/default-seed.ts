import type { Catalog } from "./catalog.ts";

/** Gives every model a seed that applies when neither the request nor the model sets one, for repeatable output. */
export function withDefaultSeed(catalog: Catalog, seed: number): Catalog {
  if (seed < 0) return catalog;
  return {
    ...catalog,
    async describe(name) {
      const model = await catalog.describe(name);
      const { parameters } = model;
      return { ...model, parameters: { ...parameters, values: { seed, ...parameters.values } } };
    },
  };
}
