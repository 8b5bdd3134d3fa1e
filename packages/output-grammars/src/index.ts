/**
 * @module
 * Output constraints as GBNF, the grammar notation of llama.cpp: JSON Schemas, any JSON, tool calls, and grammars that
 * callers wrote themselves. Schemas and grammars are untrusted input, so their size is bounded and nothing reaches
 * native code unchecked. Whatever a generated grammar accepts is valid; a schema that cannot be enforced exactly is
 * rejected with its keyword and path.
 * Imported by prompt preparation, which runs in the worker process or in a thread of its own.
 */
export { checkGrammar } from "./check-grammar.ts";
export { grammarForJson, grammarForSchema } from "./schema-grammar.ts";
export { grammarForToolCalls } from "./tool-call-grammar.ts";
