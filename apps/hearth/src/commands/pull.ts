import { defineTransferCommand } from "./transfer-model.ts";

export const define = defineTransferCommand({
  direction: "pull",
  argumentDescription: "MODEL, MODEL:TAG, hf.co/USER/REPOSITORY:TAG or HOST/NAME:TAG",
  successMessage: (model) => `Run it with: hearth run ${model}`,
});
