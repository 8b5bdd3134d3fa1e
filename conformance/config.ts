/** Which engine runs the real weights of the clients' stage: llama.cpp in its binding, or its own server. */
export const engineOfClients: "binding" | "xllamacpp" =
  process.env["HEARTH_TEST_ENGINE"] === "xllamacpp" ? "xllamacpp" : "binding";
