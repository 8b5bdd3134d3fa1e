import { defineMove } from "./move-model.ts";

export const define = defineMove({
  direction: "pull",
  argument: "as model, model:tag, hf.co/USER/REPOSITORY:TAG or HOST/NAME:TAG",
  ended: (model) => `Next: hearth run ${model}`,
});
