import { createLlamaDriver } from "./llama-driver.ts";
import { engineSuite } from "./test/engine-suite.ts";

engineSuite("the binding", async () => createLlamaDriver());
