import { defineTransferCommand } from "./transfer-model.ts";

export const define = defineTransferCommand({
  direction: "push",
  argumentDescription: "name of a local model that includes the registry: HOST/NAME:TAG",
  successMessage: (model) => `Pushed ${model}`,
});
