import { driverSuite } from "@hearth-and-keep/engine/testing";
import { createLlamaDriver } from "./llama-driver.ts";

driverSuite("the llama.cpp binding", async () => createLlamaDriver());
