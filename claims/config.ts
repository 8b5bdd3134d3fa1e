export const searchPath: string = process.env["PATH"] ?? "";

/** Everything we were started with; the programs a claim runs need the same surroundings. */
export function childEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, FORCE_COLOR: "0" };
}

/**
 * The same without what an enclosing npm, Node or test runner adds, as a person's own shell would have it. The seed
 * stays, so that a Hearth started with it gives the same output each time.
 */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const isForeign =
    /^(npm_(?!config_cache$)|NODE$|NODE_(ENV|OPTIONS|PATH)$|VITEST|FIGURES_FILE$|TEST$|DEV$|PROD$|MODE$|SSR$|BASE_URL$|INIT_CWD$)/i;
  const kept = Object.entries(process.env).filter(([name]) => !isForeign.test(name));
  return { ...Object.fromEntries(kept), HEARTH_SEED: "1", FORCE_COLOR: "0" };
}
