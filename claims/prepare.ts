import { corpusModels, preparePython } from "@hearth-and-keep/test-servers";
import type { Need } from "./line.ts";
import { runToEnd } from "./run-to-end.ts";

/** Brings what a claim needs; each way is quick when it is already there. */
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
      // All of them are made together, whichever is asked for.
      await corpusModels();
  }
}
