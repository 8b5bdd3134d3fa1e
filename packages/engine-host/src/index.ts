/**
 * @module
 * What every engine process needs around it: the sandbox it runs in, its memory limit, free CPU cores, the breaker that
 * quarantines a model that keeps crashing, and the pool of slots that requests lease.
 * Imported by the drivers, whichever program runs the model.
 */

export { CrashBreaker } from "./crash-breaker.ts";
export { FreeCores } from "./free-cores.ts";
export { filesOf, limitOfPlan } from "./memory/estimate-memory.ts";
export { type MemoryCgroup, openMemoryCgroup, removeStaleCgroups } from "./memory/memory-cgroup.ts";
export { failureOf, type ProcessEnd, whenEnded } from "./process-exit.ts";
export { lookAtMachine, type Machine, nobody } from "./sandbox/machine.ts";
export { missingProtections } from "./sandbox/missing-protections.ts";
export { foldersOfProgram, planLaunch, planWorkerLaunch, runsAsOtherUser } from "./sandbox/plan-launch.ts";
export { type Place, PlacePool, type Wanted } from "./slot-pool.ts";
