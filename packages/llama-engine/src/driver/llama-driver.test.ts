import { engineSuite } from "@hearth-and-keep/engine/testing";
import { createLlamaDriver } from "./llama-driver.ts";

engineSuite("the binding", async () => createLlamaDriver());
