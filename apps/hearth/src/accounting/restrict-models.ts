import type { HearthDependencies } from "../dependencies.ts";
import { requestFailure } from "../failures.ts";
import type { Catalog } from "../models/catalog.ts";
import { displayModelName, tryParseModelName } from "../models/model-name.ts";
import { bindRequests } from "../scheduling/scheduler.ts";

type Named = { readonly name: string; readonly aliasOf?: string };

/**
 * The services of a key that may use certain models only: the others do not exist. Names are compared as stored, so
 * another spelling, an alias or a digest of a model is that model.
 */
export async function restrictModels(
  dependencies: HearthDependencies,
  names: readonly string[],
): Promise<HearthDependencies> {
  const allowed = new Set(names.map(normalize));
  const isAllowed = ({ name, aliasOf }: Named): boolean =>
    allowed.has(normalize(name)) || (aliasOf !== undefined && allowed.has(normalize(aliasOf)));
  const models = restrictCatalog(dependencies.models, isAllowed);
  const { aliases } = dependencies;
  return {
    ...dependencies,
    models,
    aliases: {
      ...aliases,
      list: async () =>
        (await aliases.list()).filter(({ name, model }) => isAllowed({ name, aliasOf: model })),
    },
  };
}

/** The digests of allowed models, for what is listed by digest. */
export async function restrictRunning(dependencies: HearthDependencies): Promise<HearthDependencies> {
  const { models, scheduler } = dependencies;
  const digests = new Set<string>((await models.list()).models.map(({ digest }) => digest));
  return {
    ...dependencies,
    scheduler: {
      ...bindRequests(scheduler, {}),
      running: () =>
        scheduler
          .running()
          .map((load) => ({ ...load, users: load.users.filter(({ key }) => digests.has(key)) }))
          .filter(({ users }) => users.length > 0),
      queues: () => scheduler.queues().filter(({ key }) => digests.has(key)),
    },
  };
}

function restrictCatalog(catalog: Catalog, isAllowed: (model: Named) => boolean): Catalog {
  const describe: Catalog["describe"] = async (name) => {
    const model = await catalog.describe(name);
    if (!isAllowed(model)) throw requestFailure({ kind: "model-not-found", model: name });
    return model;
  };
  return {
    ...catalog,
    describe,
    async list() {
      const listing = await catalog.list();
      return { ...listing, models: listing.models.filter(isAllowed) };
    },
    async inspect(name) {
      await describe(name);
      return catalog.inspect(name);
    },
    async inspectProjector(name) {
      await describe(name);
      return catalog.inspectProjector(name);
    },
  };
}

/** Names differ neither by case nor by what is the default: the registry, the namespace and the tag. */
function normalize(name: string): string {
  const parsed = tryParseModelName(name);
  return (parsed === undefined ? name : displayModelName(parsed)).toLowerCase();
}
