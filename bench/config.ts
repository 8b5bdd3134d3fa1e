/** Folder of a checkout of the baseline commit; benchmarks against it are skipped when it is unset. */
export const baselineFolder: string | undefined = process.env["HEARTH_BASELINE"];

/** Path of the `llama-server` to compare with, e.g. one of `hearth engine build llama-server`; unset for the Python package's. */
export const llamaServerPath: string | undefined = process.env["LLAMA_SERVER"];
