/**
 * @module
 * Output constraints as GBNF, the grammar notation of llama.cpp: JSON Schemas, any JSON, tool calls, and grammars that
 * callers wrote themselves. Schemas and grammars are untrusted input, so their size is bounded and nothing reaches
 * native code unchecked. Whatever the grammar of a strict schema accepts is valid; one that cannot be enforced exactly is
 * rejected with its keyword and path. In a lenient schema such keywords are left out.
 * Imported by prompt preparation, which runs in the worker process or in a thread of its own. `listIgnoredKeywords` only
 * walks a schema, so the server may call it.
 */
export { checkGrammar } from "./check-grammar.ts";
export { listIgnoredKeywords } from "./ignored-keywords.ts";
export { grammarForJson, grammarForSchema } from "./schema-grammar.ts";
export { grammarForToolCalls } from "./tool-call-grammar.ts";
