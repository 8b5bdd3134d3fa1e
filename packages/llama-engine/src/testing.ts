export {
  countExaminedFrames,
  createHostileFrames,
  hijackedWorkerProgram,
} from "./driver/test/hostile-frames.ts";
