type EnvironmentSecret = { readonly id: string; readonly folder: string; readonly path: string };

/** The secrets of one environment, or of the base, by their paths within it. */
export type FolderContents = {
  /** E.g. `/prod`. */
  readonly folder: string;
  readonly secrets: ReadonlyMap<string, EnvironmentSecret>;
};

export type Cell =
  | { readonly state: "set"; readonly secret: EnvironmentSecret }
  | { readonly state: "inherited" | "missing" };

export type MatrixRow = {
  /** Within the environments, e.g. `api/HOST`. */
  readonly name: string;
  /** In the order of the environments. */
  readonly cells: readonly Cell[];
  readonly isComplete: boolean;
};

/** Which names the environments have, of all names in any of them or in the base. */
export function buildMatrix(
  environments: readonly FolderContents[],
  base: FolderContents | undefined,
): readonly MatrixRow[] {
  const folders = base === undefined ? environments : [...environments, base];
  const names = [...new Set(folders.flatMap(({ secrets }) => [...secrets.keys()]))].toSorted();
  return names.map((name) => {
    const isInBase = base?.secrets.has(name) === true;
    const cells = environments.map(({ secrets }): Cell => {
      const secret = secrets.get(name);
      if (secret !== undefined) return { state: "set", secret };
      return { state: isInBase ? "inherited" : "missing" };
    });
    return { name, cells, isComplete: cells.every(({ state }) => state !== "missing") };
  });
}
