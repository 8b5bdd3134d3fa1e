import { seededEnvironment } from "@hearth-and-keep/test-servers";

export const searchPath: string = process.env["PATH"] ?? "";

/** The inherited environment, for the programs that a claim runs. */
export function inheritedEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, FORCE_COLOR: "0" };
}

/**
 * The environment of a user's own shell: without the variables that an enclosing npm, Node or test runner adds. The
 * seed stays, so that a Hearth started with it gives the same output each time.
 */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const isAdded =
    /^(npm_(?!config_cache$)|NODE$|NODE_(ENV|OPTIONS|PATH)$|VITEST|FIGURES_FILE$|TEST$|DEV$|PROD$|MODE$|SSR$|BASE_URL$|INIT_CWD$)/i;
  const kept = Object.entries(process.env).filter(([name]) => !isAdded.test(name));
  return { ...Object.fromEntries(kept), ...seededEnvironment, FORCE_COLOR: "0" };
}
