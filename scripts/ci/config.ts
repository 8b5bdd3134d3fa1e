/** What `.ci/run` tells about the stages it ran before Node was there. */
export const shellStages = {
  startedAtSeconds: Number(process.env["CI_STARTED_AT"] ?? Date.now() / 1000),
  debianSeconds: Number(process.env["CI_DEBIAN_SECONDS"] ?? 0),
  nodeSeconds: Number(process.env["CI_NODE_SECONDS"] ?? 0),
  caches: process.env["CI_CACHES"] === "cold" ? "cold" : "warm",
} as const;

/** How the run is recognised among everything else on the machine: its marker and its temporary folder. */
export const runTrace = {
  runId: process.env["HEARTH_AND_KEEP_RUN"] ?? "",
  folder: process.env["TMPDIR"] ?? "",
} as const;
