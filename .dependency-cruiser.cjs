// Import rules. Every rule has a deliberately broken import in checks/cases/<rule>.ts.
const hearth = "^apps/hearth/src/";
const keep = "^apps/keep/src/";
const tests = "(\\.test\\.tsx?$|/test/|^(conformance|bench)/)";
// Code of this repository that is never shipped.
const tooling = "^(checks|claims|scripts|packages/(test-servers|figures))/";

const rule = (name, comment, { from = {}, to }) => ({ name, comment, severity: "error", from, to });

module.exports = {
  forbidden: [
    rule("no-circular-imports", "Two files that import each other belong together, or share a third", {
      to: { circular: true },
    }),
    rule("packages-import-no-app", "Packages are below the apps", {
      from: { path: "^packages/" },
      to: { path: "^apps/" },
    }),
    rule("apps-import-no-app", "Apps communicate over HTTP only", {
      from: { path: "^apps/([^/]+)/" },
      to: { path: "^apps/", pathNot: "^apps/$1/" },
    }),
    rule("package-entry-points-only", "Import a package by its index.ts, or by testing.ts from tests", {
      from: { path: "^(apps|packages)/([^/]+)/|^(checks|claims|scripts|conformance|bench)/" },
      to: {
        path: "^packages/[^/]+/src/",
        pathNot: ["^packages/[^/]+/src/(index|testing|rendering)\\.ts$", "^$1/$2/"],
      },
    }),
    rule("sdks-import-nothing", "An SDK is published on its own, without dependencies", {
      from: { path: "^sdks/[^/]+/src/" },
      to: { pathNot: "^sdks/[^/]+/src/", dependencyTypesNot: ["core"] },
    }),
    rule("main-is-never-imported", "main.ts is the composition root; only the launcher in bin starts it", {
      from: { pathNot: "^apps/[^/]+/bin/" },
      to: { path: "(^|/)main\\.tsx?$" },
    }),
    rule("no-test-code-in-production", "Fake engines and repository tools are never shipped", {
      from: { pathNot: [tests, "/src/testing\\.ts$", tooling] },
      to: { path: [tooling, "/src/testing\\.ts$", tests] },
    }),
    rule("dialects-are-independent", "A dialect translates to generation/, never to another dialect", {
      from: { path: `${hearth}dialects/([^/]+)/` },
      to: { path: `${hearth}dialects/`, pathNot: `${hearth}dialects/$1/` },
    }),
    rule("core-has-no-http", "generation, models and scheduling depend on no wire format and no HTTP", {
      from: { path: `${hearth}(generation|models|scheduling)/`, pathNot: tests },
      to: {
        path: [
          `${hearth}(dialects|access)/`,
          `${hearth}(routes|server)\\.ts$`,
          "^packages/(http-service|event-stream)/",
          "node_modules/fastify/",
        ],
      },
    }),
    rule("engine-callers", "Only scheduling/ loads engines and only generation/ calls them", {
      from: { path: hearth, pathNot: [tests, `${hearth}(generation|scheduling)/`, `${hearth}main\\.ts$`] },
      to: {
        path: ["^packages/(engine-host|llama-engine|upstream-engine)/", "node_modules/node-llama-cpp/"],
        dependencyTypesNot: ["type-only"],
      },
    }),
    rule("drivers-are-independent", "Drivers implement the engine port and do not import each other", {
      from: { path: "^packages/(llama-engine|upstream-engine)/" },
      to: { path: "^packages/(llama-engine|upstream-engine)/", pathNot: "^packages/$1/" },
    }),
    rule("engine-port-has-no-driver", "The port is below its drivers", {
      from: { path: "^packages/engine/" },
      to: { path: "^packages/(engine-host|chat-templates|output-grammars|llama-engine|upstream-engine)/" },
    }),
    rule("interpreters-are-independent", "Interpreters of untrusted input are reviewed in isolation", {
      from: { path: "^packages/(output-grammars|chat-templates|gguf)/" },
      to: { path: "^packages/(engine-host|llama-engine|upstream-engine|http-service|outbound-http)/" },
    }),
    rule("templates-only-in-workers", "Templates of model files never run on the server's event loop", {
      from: {
        path: "^(apps|packages)/",
        pathNot: [tests, "^packages/llama-engine/src/worker/", "^packages/chat-templates/"],
      },
      to: { path: "^packages/chat-templates/src/rendering\\.ts$" },
    }),
    rule("documents-only-in-workers", "Documents of clients are parsed in a sandboxed process only", {
      from: { path: "^(apps|packages)/", pathNot: [tests, "^packages/document-text/src/worker/"] },
      to: { path: "node_modules/(pdfjs-dist|@jsquash)/" },
    }),
    rule("sql-only-in-queries", "The pool and SQL are used in queries.ts and database/ only", {
      from: {
        path: keep,
        pathNot: [
          tests,
          `${keep}database/`,
          "/queries\\.ts$",
          `${keep}commands/(open-stored|serve-command)\\.ts$`,
        ],
      },
      to: {
        path: [`${keep}database/`, "node_modules/(pg|pg-[^/]+|postgres)/"],
        dependencyTypesNot: ["type-only"],
      },
    }),
    rule("use-cases-have-no-http", "Use cases take and return values; http.ts translates from and to HTTP", {
      from: { path: `${keep}[^/]+/`, pathNot: [tests, "/http\\.ts$", `${keep}(commands|access)/`] },
      to: { path: ["^packages/(http-service|event-stream)/", "node_modules/fastify/"] },
    }),
    rule(
      "decryption-only-in-secrets-and-keys",
      "Only secrets/ and keys/ decrypt; others get encrypt and decrypt as dependencies. The client encrypts its own copies",
      {
        from: {
          path: "^(apps|packages)/",
          pathNot: [tests, `${keep}(secrets|keys|client/run)/`, "^packages/envelope-crypto/"],
        },
        to: { path: "^packages/envelope-crypto/" },
      },
    ),
    rule("browser-code-has-no-node", "Browser code imports nothing from Node", {
      from: {
        path: "^(apps/(hearth-web|keep-console)|packages/(page-design|audit-chain|audit-records|transparency-log))/src/",
        pathNot: tests,
      },
      to: { dependencyTypes: ["core"] },
    }),
    rule("every-import-resolves", "An unresolved import escapes every other rule", {
      to: { couldNotResolve: true },
    }),
  ],
  options: {
    // Type-only imports count too: a circle of types is still a circle.
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(fixtures|dist)/" },
    // Without exportsFields no workspace package resolves by its name, and half of the rules see nothing.
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default"],
      extensions: [".ts", ".tsx", ".js", ".mjs", ".cjs", ".json"],
    },
  },
};
