import { descendantsOf, readProcessFile } from "@hearth-and-keep/test-servers";

/** Of a clone, or bundled. */
const workerProgram = /\/worker\/(?:main\.ts|engine-worker\.js)/u;

/** The process ids of a server's workers and of the launchers that sandbox them. */
export function workersOf(pid: number): readonly number[] {
  return descendantsOf(pid).filter((each) => workerProgram.test(readProcessFile(each, "cmdline")));
}
