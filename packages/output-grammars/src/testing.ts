export { RandomChoices } from "./test/random-choices.ts";
