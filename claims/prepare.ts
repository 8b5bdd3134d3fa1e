import { corpusModels, preparePython } from "@hearth-and-keep/test-servers";
import type { Need } from "./line.ts";
import { runToEnd } from "./run-to-end.ts";

/** Installs a prerequisite of a claim; fast when it is already installed. */
export async function prepare(need: Need): Promise<void> {
  switch (need) {
    case "debian packages": {
      const code = await runToEnd("sh", ["scripts/install-debian-packages.sh"]);
      if (code !== 0) throw new Error("Cannot install the Debian packages that tests need");
      return;
    }
    case "python":
      await preparePython();
      return;
    case "test models":
      // Requesting any model builds all of them.
      await corpusModels();
  }
}
