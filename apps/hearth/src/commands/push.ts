import { defineMove } from "./move-model.ts";

export const define = defineMove({
  direction: "push",
  argument: "a model that is here, with the registry in its name, as HOST/NAME:TAG",
  ended: (model) => `${model} is in its registry`,
});
