/** The engine of the client fixture's real weights: llama.cpp through its binding, or llama.cpp's own server. */
export const engineOfClients: "binding" | "xllamacpp" =
  process.env["HEARTH_TEST_ENGINE"] === "xllamacpp" ? "xllamacpp" : "binding";
