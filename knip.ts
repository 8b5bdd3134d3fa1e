import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { KnipConfiguration } from "knip";

type Manifest = {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
};

/** Started by name from scripts, or by another tool, so nothing imports them. */
const commandLineTools = ["@changesets/cli", "oxlint", "oxlint-tsgolint"];
const ownScope = "@hearth-and-keep/";

/** Which files start something, and what looks unused but is not; the rest is found by following imports. */
export default function configure({ directory }: { directory?: string } = {}): KnipConfiguration {
  const root = directory ?? process.cwd();
  const manifests = readManifests(root);
  const apps = manifests.filter(({ folder }) => folder.startsWith("apps/"));
  return {
    ignore: ["**/fixtures/**"],
    // Of util-linux, which every Debian has, and of packages that tests install.
    ignoreBinaries: ["unshare", "psql", "ip", "openssl", "script", "dbus-run-session", "keep"],
    workspaces: {
      ".": {
        entry: [
          "checks/index.ts",
          "claims/main.ts",
          "scripts/*.ts",
          "scripts/*/main.ts",
          "conformance/**/*.ts",
          "bench/*.ts",
          "sdks/typescript/src/index.ts",
          "integrations/*/src/{main,post}.ts",
        ],
        project: ["*.ts", "{checks,claims,scripts,conformance,bench,sdks,integrations}/**/*.{ts,tsx}"],
        ignoreDependencies: commandLineTools,
      },
      ...Object.fromEntries(
        apps.map((app) => [
          app.folder,
          {
            entry: [
              "src/main.{ts,tsx}",
              "src/test/*-process.ts",
              "src/**/forwarder.ts",
              "src/**/test/*-program.ts",
              "bin/*.js",
            ],
            project: ["src/**/*.{ts,tsx}", "bin/*.js"],
            ignoreDependencies: listedForBundled(app, manifests),
          },
        ]),
      ),
      "packages/*": { project: ["src/**/*.{ts,tsx}"] },
    },
  };
}

function readManifests(root: string): (Manifest & { readonly folder: string })[] {
  return globSync("{apps,packages}/*/package.json", { cwd: root }).map((path) => ({
    ...(JSON.parse(readFileSync(join(root, path), "utf8")) as Manifest), // npm has refused a package.json of another shape
    folder: path.slice(0, -"/package.json".length),
  }));
}

/**
 * A program's tarball has the workspace packages inside it, so the program itself lists what they need from
 * others, although only they import it.
 */
function listedForBundled(app: Manifest, manifests: readonly Manifest[]): string[] {
  const bundled = new Set<string>();
  const waiting = ownPackages(app);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (bundled.has(name)) continue;
    bundled.add(name);
    waiting.push(...manifests.filter((manifest) => manifest.name === name).flatMap(ownPackages));
  }
  const needed = manifests
    .filter(({ name }) => bundled.has(name))
    .flatMap(({ dependencies }) => Object.keys(dependencies ?? {}));
  return Object.keys(app.dependencies ?? {}).filter((name) => needed.includes(name));
}

function ownPackages({ dependencies, devDependencies }: Manifest): string[] {
  return Object.keys({ ...dependencies, ...devDependencies }).filter((name) => name.startsWith(ownScope));
}
