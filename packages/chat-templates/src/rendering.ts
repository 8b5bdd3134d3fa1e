export {
  grammarFor,
  renderConversation,
  templateIfSound,
  templateReader,
} from "./prompt-preparation/prepare-input.ts";
