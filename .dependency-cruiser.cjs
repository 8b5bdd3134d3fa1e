// Who may import whom. Every rule has a deliberately broken import in checks/fixtures/imports/<rule>/broken.
const hearth = "^apps/hearth/src/";
const keep = "^apps/keep/src/";
const tests = "(\\.test\\.tsx?$|/test/|^(conformance|bench)/)";
// Programs and parts of this repository that no user installs.
const workshop = "^(checks|claims|scripts|packages/(test-servers|figures))/";

const rule = (name, comment, { from = {}, to }) => ({ name, comment, severity: "error", from, to });

module.exports = {
  forbidden: [
    rule("no-circles", "Two files that need each other are one file, or hide a third", {
      to: { circular: true },
    }),
    rule("packages-stand-alone", "A package builds without any app", {
      from: { path: "^packages/" },
      to: { path: "^apps/" },
    }),
    rule("apps-meet-only-on-the-wire", "Apps talk over HTTP through a contract", {
      from: { path: "^apps/([^/]+)/" },
      to: { path: "^apps/", pathNot: "^apps/$1/" },
    }),
    rule("front-door-only", "Enter a package by index.ts, or by testing.ts from tests", {
      from: { path: "^(apps|packages)/([^/]+)/|^(checks|claims|scripts|conformance|bench)/" },
      to: {
        path: "^packages/[^/]+/src/",
        pathNot: ["^packages/[^/]+/src/(index|testing)\\.ts$", "^$1/$2/"],
      },
    }),
    rule("nobody-imports-main", "main wires; it is never wired. Only the launcher in bin starts it", {
      from: { pathNot: "^apps/[^/]+/bin/" },
      to: { path: "(^|/)main\\.tsx?$" },
    }),
    rule("no-test-code-in-production", "Scripted engines and our own tools stay out of what we ship", {
      from: { pathNot: [tests, "/src/testing\\.ts$", workshop] },
      to: { path: [workshop, "/src/testing\\.ts$", tests] },
    }),
    rule("dialects-are-strangers", "Translate to generation/, never to another API", {
      from: { path: `${hearth}dialects/([^/]+)/` },
      to: { path: `${hearth}dialects/`, pathNot: `${hearth}dialects/$1/` },
    }),
    rule("core-is-wire-blind", "generation, models and scheduling know no client's field names and no HTTP", {
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
    rule("engine-has-two-callers", "The scheduler loads the engine, generation feeds it", {
      from: { path: hearth, pathNot: [tests, `${hearth}(generation|scheduling)/`, `${hearth}main\\.ts$`] },
      to: {
        path: ["^packages/(engine-host|llama-engine|upstream-engine)/", "node_modules/node-llama-cpp/"],
        dependencyTypesNot: ["type-only"],
      },
    }),
    rule("drivers-are-strangers", "Both drivers stand on the engine port; neither imports the other", {
      from: { path: "^packages/(llama-engine|upstream-engine)/" },
      to: { path: "^packages/(llama-engine|upstream-engine)/", pathNot: "^packages/$1/" },
    }),
    rule("engine-port-knows-no-driver", "The port is below its drivers and what they share", {
      from: { path: "^packages/engine/" },
      to: { path: "^packages/(engine-host|chat-templates|output-grammars|llama-engine|upstream-engine)/" },
    }),
    rule("interpreters-stand-alone", "What interprets untrusted input is reviewed on its own", {
      from: { path: "^packages/(output-grammars|chat-templates|gguf)/" },
      to: { path: "^packages/(engine-host|llama-engine|upstream-engine|http-service|outbound-http)/" },
    }),
    rule("sql-lives-in-queries", "Pool and SQL are reachable from queries.ts and database/ only", {
      from: { path: keep, pathNot: [tests, `${keep}database/`, "/queries\\.ts$", `${keep}main\\.ts$`] },
      to: {
        path: [`${keep}database/`, "node_modules/(pg|pg-[^/]+|postgres)/"],
        dependencyTypesNot: ["type-only"],
      },
    }),
    rule("decisions-are-http-blind", "Use cases take and return values; http.ts speaks HTTP for them", {
      from: { path: `${keep}[^/]+/`, pathNot: [tests, "/http\\.ts$", `${keep}(commands|access)/`] },
      to: { path: ["^packages/(http-service|event-stream)/", "node_modules/fastify/"] },
    }),
    rule(
      "plaintext-has-two-rooms",
      "Only secrets/ and keys/ open envelopes; others get seal and open as parts",
      {
        from: {
          path: "^(apps|packages)/",
          pathNot: [tests, `${keep}(secrets|keys)/`, "^packages/envelope-crypto/"],
        },
        to: { path: "^packages/envelope-crypto/" },
      },
    ),
    rule("browser-code-is-browser-code", "What runs in the browser uses nothing of Node", {
      from: { path: "^(apps/(hearth-web|keep-console)|packages/page-design)/src/", pathNot: tests },
      to: { dependencyTypes: ["core"] },
    }),
    rule("every-import-resolves", "An import the tool cannot follow is one that no other rule sees", {
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
