export {
  createScriptedEngine,
  type Script,
  type ScriptedEngine,
  type ScriptStep,
} from "./fake-engine/fake-engine.ts";
export { greedySampling } from "./fake-engine/greedy-sampling.ts";
export { engineSuite } from "./test/driver-suite.ts";
