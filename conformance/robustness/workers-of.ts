import { descendantsOf, readProcessFile } from "@hearth-and-keep/test-servers";

/** The process ids of a server's workers. */
export function workersOf(pid: number): readonly number[] {
  return descendantsOf(pid).filter((each) => readProcessFile(each, "cmdline").includes("worker/main.ts"));
}
