export { engineSuite, type SuiteResult } from "./driver/test/engine-suite.ts";
export { greedySampling } from "./scripted/greedy-sampling.ts";
export {
  createScriptedEngine,
  type Script,
  type ScriptedEngine,
  type ScriptStep,
} from "./scripted/scripted-engine.ts";
export { familyTemplatesFolder } from "./templates/fixtures/family-templates.ts";
