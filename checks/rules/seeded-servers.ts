import ts from "typescript";
import type { Finding, Rule, TextFile } from "../finding.ts";
import { createSeedResolver, type IsSeeded, isSeedText, seedVariable } from "../seeded-environment.ts";
import { descendants, isStringLiteral, lineOfNode, nodesOf, propertyOf } from "../syntax.ts";

const name = "seeded-servers";

/** Test code that runs, or could run, real weights; `problem` explains why their output would be random. */
type SeededStart = {
  readonly kind:
    | "vitest project"
    | "test server"
    | "process"
    | "environment"
    | "llama-server"
    | "driver"
    | "explicit seed";
  readonly path: string;
  readonly line: number;
  readonly problem: string | undefined;
};

type Exception = { readonly path: string; readonly code: string; readonly reason: string };

/** Reviewed lines with a random seed or none, and the reason why they cause no random output. */
const exceptions: readonly Exception[] = [
  {
    path: "apps/hearth/src/test/parameters.model.test.ts",
    code: "seed: -1,",
    reason: "tests that a seed is drawn when none is set, with a fake engine",
  },
  {
    path: "bench/bare-binding.ts",
    code: "env: { UV_THREADPOOL_SIZE",
    reason: "the binding without Hearth, which reads no settings and has temperature 0",
  },
  {
    path: "packages/test-servers/src/stop-programs.integration.test.ts",
    code: "env: { HOME: home,",
    reason: "a shell that starts nothing but sleep",
  },
];

const testCode =
  /\.test\.tsx?$|(?:^|\/)(?:test|fixtures)\/|^(?:bench|claims|conformance|packages\/test-servers)\//u;
/** Code that runs no models: Keep, the repository's own tools and these rules. */
const withoutModels = /^(?:apps\/keep|apps\/keep-console|checks|scripts)\//u;
/** Packages cannot import Hearth, so only these folders start it in a process. */
const startsHearth = /^(?:apps|bench|claims|conformance|packages\/test-servers)\//u;

const processStarters = new Set(
  "spawn spawnSync execFile execFileSync execSync fork startProcess".split(" "),
);
const driverFactories = new Set("createLlamaDriver createLlamaServerDriver createRemoteEngine".split(" "));
const unseededValue =
  /\bseed\b["'`]?[\s,:=]+["'`]?(?:-\d|Math\.random|Date\.now|performance\.now|randomInt|randomBytes)/iu;
const explicitSeed = /\bseed\b["'`]?\s*[:=,]\s*["'`]?-?[\d\w]/iu;
const setVariable = new RegExp(`${seedVariable}["'\`]?\\s*[:=]\\s*["'\`]?\\d+`, "u");

/** No request to real weights in a test depends on chance: the code that starts them sets a seed. */
export const seededServers: Rule = {
  name,
  find(files) {
    const broken = collectSeededStarts(files).flatMap(({ path, line, problem }) =>
      problem === undefined ? [] : [{ path, line, rule: name, message: problem }],
    );
    const lines = new Map(files.map(({ path, text }) => [path, text.split("\n")]));
    const covers = ({ path, code }: Exception, finding: Finding): boolean =>
      finding.path === path && (lines.get(path)?.[finding.line - 1] ?? "").includes(code);
    const stale = exceptions.filter(
      (exception) => lines.has(exception.path) && !broken.some((finding) => covers(exception, finding)),
    );
    return [
      ...broken.filter((finding) => !exceptions.some((exception) => covers(exception, finding))),
      ...stale.map(({ path, code }) => {
        const message = `Remove the exception for "${code}" from the rule: nothing here needs it`;
        return { path, line: 1, rule: name, message };
      }),
    ];
  },
};

/** Everything that the rule checks; a claim prints their number as its denominator. */
export function collectSeededStarts(files: readonly TextFile[]): readonly SeededStart[] {
  const tests = files.filter(({ path }) => testCode.test(path) && !withoutModels.test(path));
  const code = tests.filter(({ path }) => /\.(?:[cm]?[jt]s|tsx)$/u.test(path));
  const isSeeded = createSeedResolver(code);
  return [
    ...files.filter(({ path }) => /^vitest\.(?:config|workspace)\.ts$/u.test(path)).flatMap(projects),
    ...files.filter(({ path }) => path.startsWith("packages/engine/src/")).flatMap(samplingType),
    ...code.flatMap((file) => starts(file, isSeeded)),
    ...tests.filter(({ path }) => path.endsWith(".py")).flatMap(llamaServers),
    ...[...code, ...tests.filter(({ path }) => path.endsWith(".py"))].flatMap(explicitSeeds),
  ];
}

/** Each project of the test runner sets the variable for its tests, and no option overrides it. */
function projects(file: TextFile): SeededStart[] {
  const nodes = nodesOf(file);
  const lists = nodes.flatMap((node) => {
    const value = ts.isObjectLiteralExpression(node) ? propertyOf(node, "projects") : undefined;
    return value !== undefined && ts.isArrayLiteralExpression(value) ? value : [];
  });
  const problem = `Set ${seedVariable} in the environment of this project`;
  if (lists.length === 0) return [{ kind: "vitest project", path: file.path, line: 1, problem }];
  return lists
    .flatMap(({ elements }) => [...elements])
    .map((element) => {
      const called = ts.isCallExpression(element) ? element.expression.getText() : undefined;
      const factory = nodes.find((node) => ts.isFunctionDeclaration(node) && node.name?.text === called);
      const environments = environmentsIn(factory ?? element);
      const own = factory === undefined ? [] : environmentsIn(element);
      const isSet = environments.length > 0 && [...environments, ...own].every(setsSeed);
      return startAt(element, "vitest project", isSet ? undefined : problem);
    });
}

function environmentsIn(node: ts.Node): readonly ts.Expression[] {
  return descendants(node).flatMap((each) =>
    ts.isObjectLiteralExpression(each) ? (propertyOf(each, "env") ?? []) : [],
  );
}

function setsSeed(node: ts.Expression): boolean {
  return ts.isObjectLiteralExpression(node) && isSeedText(propertyOf(node, seedVariable));
}

/** Drivers accept no request without a seed; the compiler enforces this as long as the field is required. */
function samplingType(file: TextFile): SeededStart[] {
  return nodesOf(file).flatMap((node) => {
    if (!ts.isTypeAliasDeclaration(node) || node.name.text !== "Sampling") return [];
    const members = ts.isTypeLiteralNode(node.type) ? [...node.type.members] : [];
    const seed = members.find((member) => member.name?.getText() === "seed");
    const isRequired =
      seed !== undefined && seed.questionToken === undefined && /: number;?$/u.test(seed.getText());
    const problem = "Require a seed in every request to an engine: `seed: number`";
    return [startAt(node, "driver", isRequired ? undefined : problem)];
  });
}

function starts(file: TextFile, isSeeded: IsSeeded): SeededStart[] {
  const mayPassEnvironment = startsHearth.test(file.path) && /\benv\b/u.test(file.text);
  const usesDriver = [...driverFactories].some((factory) => file.text.includes(`${factory}(`));
  const usesBinding = /from "node-llama-cpp"/u.test(file.text);
  return nodesOf(file).flatMap((node): SeededStart | SeededStart[] => {
    if (ts.isObjectLiteralExpression(node)) return mayPassEnvironment ? environment(node, isSeeded) : [];
    if (!ts.isCallExpression(node)) return [];
    const called = calledName(node);
    if (called === "startTestServer") return testServer(node);
    if (called === "createModelServer") return modelServer(node);
    if (called === "startLlamaServer") return startAt(node, "llama-server", undefined);
    if (driverFactories.has(called)) return startAt(node, "driver", undefined);
    if (processStarters.has(called)) return startedProcess(node);
    if (called === "resolveSampling" && usesDriver) return sampled(node, node.arguments[0]);
    if (called === "evaluate" && usesBinding) return sampled(node, node.arguments[1]);
    return [];
  });
}

/** `spawn(…)`, `child.spawn(…)` and `promisify(execFile)(…)`. */
function calledName({ expression }: ts.CallExpression): string {
  if (ts.isPropertyAccessExpression(expression)) return expression.name.text;
  if (ts.isCallExpression(expression)) return expression.arguments[0]?.getText() ?? "";
  return ts.isIdentifier(expression) ? expression.text : "";
}

/** The environment of a process, wherever its options are written. */
function environment(options: ts.ObjectLiteralExpression, isSeeded: IsSeeded): SeededStart[] {
  const given = propertyOf(options, "env");
  if (given === undefined) return [];
  const problem = `Add ${seedVariable} to this environment: a Hearth started with it would draw its seeds`;
  return [startAt(given.parent, "environment", isSeeded(given) ? undefined : problem)];
}

/** A test server has a seed unless its options replace it. */
function testServer(call: ts.CallExpression): SeededStart {
  const [options] = call.arguments;
  const seed =
    options !== undefined && ts.isObjectLiteralExpression(options) ? propertyOf(options, "seed") : undefined;
  const isNumber = seed === undefined || ts.isNumericLiteral(seed) || ts.isPrefixUnaryExpression(seed);
  return startAt(seed ?? call, "test server", isNumber ? undefined : "Give the server a number as its seed");
}

/** A server that test code composes itself serves its models with a default seed. */
function modelServer(call: ts.CallExpression): SeededStart {
  const seeds = descendants(call).flatMap((node) =>
    ts.isCallExpression(node) && calledName(node) === "withDefaultSeed" ? (node.arguments[1] ?? []) : [],
  );
  const isSet = seeds.some(
    (seed) => ts.isNumericLiteral(seed) || (ts.isBinaryExpression(seed) && ts.isNumericLiteral(seed.right)),
  );
  const problem = "Serve the models of this server through withDefaultSeed, with a number as the default";
  return startAt(call, "test server", isSet ? undefined : problem);
}

function startedProcess(call: ts.CallExpression): SeededStart {
  const [command] = call.arguments;
  const isLlama = isStringLiteral(command) && /(?:^|\/)llama-(?:server|cli)$/u.test(command.text);
  const hasSeed = descendants(call).some((node) => isStringLiteral(node) && node.text === "--seed");
  const problem = isLlama && !hasSeed ? "Start llama.cpp with --seed" : undefined;
  return startAt(call, isLlama ? "llama-server" : "process", problem);
}

/** Sampling options that name a seed or temperature 0. */
function sampled(call: ts.CallExpression, options: ts.Expression | undefined): SeededStart {
  const literal = options !== undefined && ts.isObjectLiteralExpression(options) ? options : undefined;
  const isDeterministic =
    literal !== undefined &&
    (propertyOf(literal, "seed") !== undefined || propertyOf(literal, "temperature")?.getText() === "0");
  return startAt(call, "driver", isDeterministic ? undefined : "Give this request a seed or temperature 0");
}

/** llama.cpp's own server draws a seed for each request that has none, unless its parameters set one. */
function llamaServers({ path, text }: TextFile): SeededStart[] {
  return text.split("\n").flatMap((line, index) => {
    if (!/xllamacpp\.Server\(/u.test(line)) return [];
    const isSet = /\.sampling\.seed = \d+$/mu.test(text);
    const problem = isSet ? undefined : "Set sampling.seed in the parameters of this server";
    return [{ kind: "llama-server", path, line: index + 1, problem } as const];
  });
}

/** Every literal seed, in code, JSON, a Modelfile or a command line. */
function explicitSeeds({ path, text }: TextFile): SeededStart[] {
  return text.split("\n").flatMap((line, index) => {
    const problem = problemOfLine(line);
    if (problem === undefined && !explicitSeed.test(line)) return [];
    return [{ kind: "explicit seed", path, line: index + 1, problem } as const];
  });
}

function problemOfLine(line: string): string | undefined {
  if (unseededValue.test(line)) return "Write a fixed seed: this one is drawn at random";
  if (line.includes(seedVariable) && !setVariable.test(line)) return `Leave ${seedVariable} as it is set`;
  if (/\benv -i\b/u.test(line)) return `Keep ${seedVariable}: "env -i" drops it`;
  return undefined;
}

function startAt(node: ts.Node, kind: SeededStart["kind"], problem: string | undefined): SeededStart {
  return { kind, path: node.getSourceFile().fileName, line: lineOfNode(node), problem };
}
