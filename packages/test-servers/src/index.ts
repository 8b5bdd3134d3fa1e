/**
 * @module
 * The real servers and programs that tests run against: databases, identity providers, model registries, a browser,
 * Python clients and llama.cpp's own server, each started on a free loopback port and stopped without leftovers.
 * Every start function returns an AsyncDisposable: `await using postgres = await startPostgres()`.
 * Imported only by tests, benchmarks and claims, never by production code.
 */

export { type Agent, aiderRequirements, fetchAgent, prepareAider } from "./agents/fetch-agent.ts";
export { appear, press } from "./browser/appear.ts";
export { captureScreen, findViolations } from "./browser/check-screen.ts";
export { KeyboardWalk, type KeyboardWalkPlan } from "./browser/keyboard-walk.ts";
export { type BrowserOptions, startBrowser, type TestBrowser } from "./browser/start-browser.ts";
export { takeScreenshot } from "./browser/take-screenshot.ts";
export {
  everyVariant,
  type ScreenState,
  twoVariants,
  type Variant,
  type WalkResult,
  walkScreens,
} from "./browser/walk-screens.ts";
export { type Watched, type WatchRules, watchPage } from "./browser/watch-page.ts";
export {
  cacheFolder,
  childEnvironment,
  compileCacheEnvironment,
  downloadEnvironment,
  ipcEnvironment,
  runCacheFolder,
  screenshotFolder,
  seededEnvironment,
} from "./config.ts";
export { createOnce } from "./create-once.ts";
export type { Fault } from "./fault-proxy/fault.ts";
export { type FaultProxy, type FaultProxyPlan, startFaultProxy } from "./fault-proxy/start-fault-proxy.ts";
export { prepareGitleaks } from "./gitleaks/prepare-gitleaks.ts";
export type { AccountEmail, CodeHostingAccount } from "./identity/code-hosting/accounts.ts";
export type { CodeHostingApplication } from "./identity/code-hosting/applications.ts";
export {
  type CodeHostingOptions,
  type CodeHostingProvider,
  startCodeHostingProvider,
} from "./identity/code-hosting/start-code-hosting-provider.ts";
export type { GeneralAccount } from "./identity/general/accounts.ts";
export {
  type GeneralClient,
  type GeneralIdentityProvider,
  type GeneralProviderOptions,
  startGeneralIdentityProvider,
} from "./identity/general/start-general-provider.ts";
export type { Behaviour, Forgery } from "./identity/hostile/forgeries.ts";
export {
  type HostileAccount,
  type HostileIdentityProvider,
  startHostileIdentityProvider,
} from "./identity/hostile/start-hostile-provider.ts";
export {
  makeWorkloadKey,
  publicJwk,
  signWorkloadToken,
  startWorkloadIssuer,
  type WorkloadIssuer,
  type WorkloadKey,
} from "./identity/start-workload-issuer.ts";
export type { SignInInput } from "./identity/walk-sign-in.ts";
export { findLeftovers } from "./leftovers.ts";
export {
  type LlamaServer,
  type LlamaServerPlan,
  startLlamaServer,
} from "./llama-server/start-llama-server.ts";
export { findFreePort } from "./loopback-port.ts";
export { endOfHeaderText, readHeaderInteger, replaceHeaderInteger } from "./models/header-values.ts";
export { preparedWorker } from "./models/prepared-worker.ts";
export { corpusModels, type TestModelName, testModel } from "./models/test-model.ts";
export { findTypeErrors, generateClient } from "./openapi-client/generate-client.ts";
export { type OwnedProcess, type ProcessPlan, startProcess } from "./owned-process.ts";
export { acquireDatabase } from "./postgres/acquire-database.ts";
export { cloneFromTemplate, type DatabaseTemplate } from "./postgres/database-template.ts";
export type { PostgresAddress, PostgresDatabase } from "./postgres/databases.ts";
export { type Postgres, type PostgresOptions, startPostgres } from "./postgres/start-postgres.ts";
export { startStandby } from "./postgres/start-standby.ts";
export { descendantsOf, readProcessFile } from "./process-table.ts";
export { preparePython } from "./python/prepare-python.ts";
export { runPython } from "./python/run-python.ts";
export type { HubRepository } from "./registries/hub/repository.ts";
export { type ModelHub, type ModelHubOptions, startModelHub } from "./registries/hub/start-model-hub.ts";
export { pushBlob, pushManifest, type RegistryRepository } from "./registries/registry-client.ts";
export {
  type ModelRegistry,
  type ModelRegistryOptions,
  startModelRegistry,
} from "./registries/start-model-registry.ts";
export { stopProgramsOf } from "./stop-programs.ts";
export { makeTemporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";
