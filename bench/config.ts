/** Folder of a checkout of the baseline commit; benchmarks against it are skipped when it is unset. */
export const baselineFolder: string | undefined = process.env["HEARTH_BASELINE"];
