/**
 * @module
 * Everything around an engine process that does not depend on the program that runs the model: the sandbox, memory
 * limits, unused memory, free CPU cores, the circuit breakers for models that keep crashing and for grammars that stall, and the pool of
 * slots that requests lease.
 * Imported by the drivers, and by `document-text` for the sandbox.
 */

export { CrashBreaker } from "./crash-breaker.ts";
export { FreeCores } from "./free-cores.ts";
export { failureForOthers, failureForSuspects, GrammarBreaker } from "./grammar-breaker.ts";
export { listModelFiles, memoryLimitForPlan } from "./memory/estimate-memory.ts";
export { createMemoryCgroup, type MemoryCgroup, removeStaleCgroups } from "./memory/memory-cgroup.ts";
export { createSharedFile, type SharedFile, sharedFileDescriptor } from "./memory/shared-file.ts";
export {
  measureOwnMemory,
  observeAllocations,
  observeMappings,
  type UnusedMemory,
} from "./memory/unused-memory.ts";
export { exitFailure, type ProcessExit, waitForExit } from "./process-exit.ts";
export { type RunningClock, startRunningClock } from "./running-clock.ts";
export { inspectMachine, type Machine, nobodyUserId } from "./sandbox/machine.ts";
export { describeProtection, missingProtections } from "./sandbox/missing-protections.ts";
export { findProgramFolders, type LaunchPlan, planLaunch, planWorkerLaunch } from "./sandbox/plan-launch.ts";
export { runsAsNobody } from "./sandbox/reject-root.ts";
export { killLaunch, spawnLaunch } from "./sandbox/spawn-launch.ts";
export { type Slot, SlotPool, type SlotRequest } from "./slot-pool.ts";
