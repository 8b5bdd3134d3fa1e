export {
  createFakeEngine,
  type FakeEngine,
  type FakeEngineScript,
  type FakeEngineStep,
} from "./fake-engine/fake-engine.ts";
export { greedySampling } from "./fake-engine/greedy-sampling.ts";
export { driverSuite } from "./test/driver-suite.ts";
