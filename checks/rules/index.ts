/**
 * @module
 * The project's own rules, which no existing tool implements, one per file.
 * Each is a pure function from the files of a tree to findings; none reads the disk, so cases and the repository are
 * checked by the same code. A rule added here needs a case in cases/.
 * Imported by the files of checks/ only.
 */
import type { Rule } from "../finding.ts";
import { architectureDrawing } from "./architecture-drawing.ts";
import { boundedSchemas } from "./bounded-schemas.ts";
import { documentedDependencies } from "./documented-dependencies.ts";
import { documentedRoutes } from "./documented-routes.ts";
import { environmentInConfig } from "./environment-in-config.ts";
import { explainedAssertions } from "./explained-assertions.ts";
import { fileLength } from "./file-length.ts";
import { fileNames } from "./file-names.ts";
import { functionSize } from "./function-size.ts";
import { installScripts } from "./install-scripts.ts";
import { lockfileAddresses } from "./lockfile-addresses.ts";
import { markdownLinks } from "./markdown-links.ts";
import { moduleNotes } from "./module-notes.ts";
import { noDeveloperPaths } from "./no-developer-paths.ts";
import { noHiddenTests } from "./no-hidden-tests.ts";
import { noRegistryHosts } from "./no-registry-hosts.ts";
import { oneDigestPath } from "./one-digest-path.ts";
import { oneWayOut } from "./one-way-out.ts";
import { plainNames } from "./plain-names.ts";
import { productionLicences } from "./production-licences.ts";
import { seededServers } from "./seeded-servers.ts";
import { variableNames } from "./variable-names.ts";

export const rules: readonly Rule[] = [
  moduleNotes,
  fileLength,
  functionSize,
  fileNames,
  plainNames,
  variableNames,
  environmentInConfig,
  explainedAssertions,
  noHiddenTests,
  seededServers,
  boundedSchemas,
  oneDigestPath,
  oneWayOut,
  documentedRoutes,
  noDeveloperPaths,
  noRegistryHosts,
  lockfileAddresses,
  markdownLinks,
  architectureDrawing,
  productionLicences,
  documentedDependencies,
  installScripts,
];
