import { appsImportNoApp } from "./apps-import-no-app.ts";
import { architectureDrawing } from "./architecture-drawing.ts";
import { boundedSchemas } from "./bounded-schemas.ts";
import { browserCodeHasNoNode } from "./browser-code-has-no-node.ts";
import type { CheckCase } from "./check-case.ts";
import { commitMessages } from "./commit-messages.ts";
import { coreHasNoHttp } from "./core-has-no-http.ts";
import { decryptionOnlyInSecretsAndKeys } from "./decryption-only-in-secrets-and-keys.ts";
import { dialectsAreIndependent } from "./dialects-are-independent.ts";
import { documentedDependencies } from "./documented-dependencies.ts";
import { documentedRoutes } from "./documented-routes.ts";
import { documentsOnlyInWorkers } from "./documents-only-in-workers.ts";
import { driversAreIndependent } from "./drivers-are-independent.ts";
import { engineCallers } from "./engine-callers.ts";
import { enginePortHasNoDriver } from "./engine-port-has-no-driver.ts";
import { environmentInConfig } from "./environment-in-config.ts";
import { everyImportResolves } from "./every-import-resolves.ts";
import { explainedAssertions } from "./explained-assertions.ts";
import { fileLength } from "./file-length.ts";
import { fileNames } from "./file-names.ts";
import { formatter } from "./formatter.ts";
import { functionSize } from "./function-size.ts";
import { installScripts } from "./install-scripts.ts";
import { interpretersAreIndependent } from "./interpreters-are-independent.ts";
import { linter } from "./linter.ts";
import { lockfileAddresses } from "./lockfile-addresses.ts";
import { mainIsNeverImported } from "./main-is-never-imported.ts";
import { markdownLinks } from "./markdown-links.ts";
import { moduleNotes } from "./module-notes.ts";
import { noCircularImports } from "./no-circular-imports.ts";
import { noDeveloperPaths } from "./no-developer-paths.ts";
import { noHiddenTests } from "./no-hidden-tests.ts";
import { noRegistryHosts } from "./no-registry-hosts.ts";
import { noTestCodeInProduction } from "./no-test-code-in-production.ts";
import { oneDigestPath } from "./one-digest-path.ts";
import { oneWayOut } from "./one-way-out.ts";
import { packageEntryPointsOnly } from "./package-entry-points-only.ts";
import { packagesImportNoApp } from "./packages-import-no-app.ts";
import { plainNames } from "./plain-names.ts";
import { productionLicences } from "./production-licences.ts";
import { sdksImportNothing } from "./sdks-import-nothing.ts";
import { seededServers } from "./seeded-servers.ts";
import { sqlOnlyInQueries } from "./sql-only-in-queries.ts";
import { templatesOnlyInWorkers } from "./templates-only-in-workers.ts";
import { types } from "./types.ts";
import { unlistedDependencies } from "./unlisted-dependencies.ts";
import { unusedDependencies } from "./unused-dependencies.ts";
import { unusedExports } from "./unused-exports.ts";
import { unusedFiles } from "./unused-files.ts";
import { useCasesHaveNoHttp } from "./use-cases-have-no-http.ts";
import { variableNames } from "./variable-names.ts";
export const cases: Readonly<Record<string, CheckCase>> = {
  "templates-only-in-workers": templatesOnlyInWorkers,
  "documents-only-in-workers": documentsOnlyInWorkers,
  "plain-names": plainNames,
  "architecture-drawing": architectureDrawing,
  "interpreters-are-independent": interpretersAreIndependent,
  "engine-port-has-no-driver": enginePortHasNoDriver,
  "drivers-are-independent": driversAreIndependent,
  "bounded-schemas": boundedSchemas,
  "documented-dependencies": documentedDependencies,
  "documented-routes": documentedRoutes,
  "environment-in-config": environmentInConfig,
  "explained-assertions": explainedAssertions,
  "file-length": fileLength,
  "file-names": fileNames,
  "function-size": functionSize,
  "apps-import-no-app": appsImportNoApp,
  "browser-code-has-no-node": browserCodeHasNoNode,
  "core-has-no-http": coreHasNoHttp,
  "use-cases-have-no-http": useCasesHaveNoHttp,
  "dialects-are-independent": dialectsAreIndependent,
  "engine-callers": engineCallers,
  "every-import-resolves": everyImportResolves,
  "package-entry-points-only": packageEntryPointsOnly,
  "no-circular-imports": noCircularImports,
  "no-test-code-in-production": noTestCodeInProduction,
  "main-is-never-imported": mainIsNeverImported,
  "packages-import-no-app": packagesImportNoApp,
  "decryption-only-in-secrets-and-keys": decryptionOnlyInSecretsAndKeys,
  "sql-only-in-queries": sqlOnlyInQueries,
  "install-scripts": installScripts,
  "lockfile-addresses": lockfileAddresses,
  "markdown-links": markdownLinks,
  "module-notes": moduleNotes,
  "no-developer-paths": noDeveloperPaths,
  "no-hidden-tests": noHiddenTests,
  "no-registry-hosts": noRegistryHosts,
  "one-digest-path": oneDigestPath,
  "one-way-out": oneWayOut,
  "production-licences": productionLicences,
  formatter,
  linter,
  types,
  "unlisted-dependencies": unlistedDependencies,
  "unused-dependencies": unusedDependencies,
  "unused-exports": unusedExports,
  "unused-files": unusedFiles,
  "variable-names": variableNames,
  "sdks-import-nothing": sdksImportNothing,
  "seeded-servers": seededServers,
  "commit-messages": commitMessages,
};
