import { answerCountTokens } from "./dialects/anthropic/count-tokens.ts";
import { anthropicFamily as messages } from "./dialects/anthropic/errors.ts";
import { answerMessages } from "./dialects/anthropic/messages.ts";
import { answerModelOfMessages, answerModelsOfMessages } from "./dialects/anthropic/models.ts";
import { countTokensRequest, messagesRequest } from "./dialects/anthropic/schema.ts";
import { answerHasBlob, answerTakeBlob } from "./dialects/ollama/blobs.ts";
import { answerChat } from "./dialects/ollama/chat.ts";
import { answerCreate } from "./dialects/ollama/create.ts";
import { answerEmbed, answerEmbeddings } from "./dialects/ollama/embed.ts";
import { ollamaFamily as ollama } from "./dialects/ollama/errors.ts";
import { answerGenerate } from "./dialects/ollama/generate.ts";
import { answerCopy, answerDelete, answerPs, answerShow, answerTags } from "./dialects/ollama/models.ts";
import {
  chatRequest,
  copyRequest,
  createRequest,
  deleteRequest,
  embeddingsRequest,
  embedRequest,
  generateRequest,
  showRequest,
  transferRequest,
} from "./dialects/ollama/schema.ts";
import { answerReady, answerRoot, answerStatus, answerVersion } from "./dialects/ollama/status.ts";
import { answerPull, answerPush } from "./dialects/ollama/transfers.ts";
import { answerChatCompletions } from "./dialects/openai/chat-completions.ts";
import { answerCompletions } from "./dialects/openai/completions.ts";
import { answerCreateEmbeddings } from "./dialects/openai/embeddings.ts";
import { openaiFamily as openai } from "./dialects/openai/errors.ts";
import { answerModel, answerModels } from "./dialects/openai/models.ts";
import { responsesRequest } from "./dialects/openai/responses/schema.ts";
import { answerResponses } from "./dialects/openai/responses.ts";
import {
  chatCompletionsRequest,
  completionsRequest,
  createEmbeddingsRequest,
} from "./dialects/openai/schema.ts";
import { answerApiDocument, answerApiPage, answerMetrics } from "./openapi/handlers.ts";
import { byClient, failingByClient, type HearthRoute, takes } from "./route-row.ts";
import { answerPage, answerPagePart, unlessBrowser } from "./web-ui/handlers.ts";

const either = failingByClient(openai, messages);

/** Every URL Hearth answers; a GET row also answers HEAD. */
// biome-ignore format: a table is read down its columns
export const routes: readonly HearthRoute[] = [
  { method: "GET",    path: "/",                             family: ollama,   access: "key", handle: unlessBrowser(answerRoot) },
  { method: "GET",    path: "/readyz",                       family: ollama,   access: "key", handle: answerReady },
  { method: "GET",    path: "/api/version",                  family: ollama,   access: "key", handle: answerVersion },
  { method: "GET",    path: "/api/status",                   family: ollama,   access: "key", handle: answerStatus },
  { method: "GET",    path: "/api/tags",                     family: ollama,   access: "key", handle: answerTags },
  { method: "GET",    path: "/api/ps",                       family: ollama,   access: "key", handle: answerPs },
  { method: "POST",   path: "/api/show",                     family: ollama,   access: "key", ...takes(showRequest, answerShow) },
  { method: "POST",   path: "/api/generate",                 family: ollama,   access: "key", ...takes(generateRequest, answerGenerate) },
  { method: "POST",   path: "/api/chat",                     family: ollama,   access: "key", ...takes(chatRequest, answerChat) },
  { method: "POST",   path: "/api/embed",                    family: ollama,   access: "key", ...takes(embedRequest, answerEmbed) },
  { method: "POST",   path: "/api/embeddings",               family: ollama,   access: "key", ...takes(embeddingsRequest, answerEmbeddings) },
  { method: "POST",   path: "/api/copy",                     family: ollama,   access: "key", ...takes(copyRequest, answerCopy) },
  { method: "DELETE", path: "/api/delete",                   family: ollama,   access: "key", ...takes(deleteRequest, answerDelete) },
  { method: "POST",   path: "/api/delete",                   family: ollama,   access: "key", ...takes(deleteRequest, answerDelete) },
  { method: "POST",   path: "/api/pull",                     family: ollama,   access: "key", ...takes(transferRequest, answerPull) },
  { method: "POST",   path: "/api/push",                     family: ollama,   access: "key", ...takes(transferRequest, answerPush) },
  { method: "POST",   path: "/api/create",                   family: ollama,   access: "key", ...takes(createRequest, answerCreate) },
  { method: "HEAD",   path: "/api/blobs/:digest",            family: ollama,   access: "key", handle: answerHasBlob },
  { method: "POST",   path: "/api/blobs/:digest",            family: ollama,   access: "key", body: "stream", handle: answerTakeBlob },
  { method: "GET",    path: "/metrics",                      family: ollama,   access: "key", handle: answerMetrics },
  { method: "GET",    path: "/openapi",                      family: ollama,   access: "key", handle: answerApiPage },
  { method: "GET",    path: "/openapi/:document",            family: ollama,   access: "key", handle: answerApiDocument },
  { method: "GET",    path: "/ui",                           family: ollama,   access: "key", handle: answerPage },
  { method: "GET",    path: "/ui/",                          family: ollama,   access: "key", handle: answerPage },
  { method: "GET",    path: "/ui/:part",                     family: ollama,   access: "key", handle: answerPagePart },
  { method: "POST",   path: "/v1/chat/completions",          family: openai,   access: "key", ...takes(chatCompletionsRequest, answerChatCompletions) },
  { method: "POST",   path: "/v1/completions",               family: openai,   access: "key", ...takes(completionsRequest, answerCompletions) },
  { method: "POST",   path: "/v1/embeddings",                family: openai,   access: "key", ...takes(createEmbeddingsRequest, answerCreateEmbeddings) },
  { method: "POST",   path: "/v1/responses",                 family: openai,   access: "key", packing: "zstd", ...takes(responsesRequest, answerResponses) },
  { method: "GET",    path: "/v1/models",                    family: either,   access: "key", handle: byClient(answerModels, answerModelsOfMessages) },
  { method: "GET",    path: "/v1/models/*",                  family: either,   access: "key", handle: byClient(answerModel, answerModelOfMessages) },
  { method: "POST",   path: "/chat/completions",             family: openai,   access: "key", ...takes(chatCompletionsRequest, answerChatCompletions) },
  { method: "POST",   path: "/completions",                  family: openai,   access: "key", ...takes(completionsRequest, answerCompletions) },
  { method: "POST",   path: "/embeddings",                   family: openai,   access: "key", ...takes(createEmbeddingsRequest, answerCreateEmbeddings) },
  { method: "GET",    path: "/models",                       family: openai,   access: "key", handle: answerModels },
  { method: "POST",   path: "/v1/v1/chat/completions",       family: openai,   access: "key", ...takes(chatCompletionsRequest, answerChatCompletions) },
  { method: "POST",   path: "/v1/v1/messages",               family: messages, access: "key", ...takes(messagesRequest, answerMessages) },
  { method: "POST",   path: "/v1/v1/messages/count_tokens",  family: messages, access: "key", ...takes(countTokensRequest, answerCountTokens) },
  { method: "POST",   path: "/v1/messages",                  family: messages, access: "key", ...takes(messagesRequest, answerMessages) },
  { method: "POST",   path: "/v1/messages/count_tokens",     family: messages, access: "key", ...takes(countTokensRequest, answerCountTokens) },
  { method: "POST",   path: "/alt/v1/messages",              family: messages, access: "key", ...takes(messagesRequest, answerMessages) },
  { method: "POST",   path: "/alt/v1/messages/count_tokens", family: messages, access: "key", ...takes(countTokensRequest, answerCountTokens) },
  { method: "GET",    path: "/alt/v1/models",                family: messages, access: "key", handle: answerModelsOfMessages },
  { method: "GET",    path: "/alt/v1/models/*",              family: messages, access: "key", handle: answerModelOfMessages },
];
