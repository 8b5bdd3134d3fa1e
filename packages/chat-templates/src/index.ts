/**
 * @module
 * Chat templates, Jinja and Go, and the preparation of prompts and grammars for a request. A Jinja template renders byte
 * for byte what llama.cpp's own server renders. The parser is `@huggingface/jinja`; the evaluator is ours, because
 * templates come from untrusted model files: every step, item and byte is counted, and a template either renders or
 * fails with `template-failed` within a second.
 * Imported by the engine drivers. This entry runs templates in a thread; `rendering.ts` renders them in place and is for
 * worker processes only, so that no template ever runs on the server's event loop.
 */
export type { ModelTemplate } from "./model-template.ts";
export { fitPrompt } from "./prompt-preparation/fit-prompt.ts";
export { fitText } from "./prompt-preparation/fit-text.ts";
export { plainMetadata } from "./prompt-preparation/plain-metadata.ts";
export { type PreparationOptions, PreparationThread } from "./prompt-preparation/preparation-thread.ts";
export { templateTextsOf } from "./prompt-preparation/template-texts.ts";
export type { SpecialTokens } from "./render-chat-template.ts";
