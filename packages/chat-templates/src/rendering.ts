export {
  createTemplateParser,
  grammarFor,
  renderConversation,
  tryChatTemplate,
} from "./prompt-preparation/prepare-input.ts";
