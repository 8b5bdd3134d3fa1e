/** Timings of the stages that `.ci/run` ran before Node was installed. */
export const shellStages = {
  startedAtSeconds: Number(process.env["CI_STARTED_AT"] ?? Date.now() / 1000),
  debianSeconds: Number(process.env["CI_DEBIAN_SECONDS"] ?? 0),
  nodeSeconds: Number(process.env["CI_NODE_SECONDS"] ?? 0),
  caches: process.env["CI_CACHES"] === "cold" ? "cold" : "warm",
} as const;

/** Identifies the run's processes and files on this machine: its run id and its temporary folders. */
export const runTrace = {
  runId: process.env["HEARTH_AND_KEEP_RUN"] ?? "",
  folders: [process.env["TMPDIR"], process.env["TEST_MEMORY_FOLDER"]].filter((path) => path !== undefined),
} as const;
