export {
  createScriptedEngine,
  type Script,
  type ScriptedEngine,
  type ScriptStep,
} from "./scripted/scripted-engine.ts";
