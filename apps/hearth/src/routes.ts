import {
  accepts,
  type Handler,
  type RequestHead,
  type Route,
  RouteNotFoundError,
} from "@hearth-and-keep/http-service";
import type { Actor } from "./access/authenticate.ts";
import type { HearthDependencies } from "./dependencies.ts";
import {
  handleBatchResults,
  handleCancelBatch,
  handleCreateBatch,
  handleDeleteBatch,
  handleGetBatch,
  handleListBatches,
} from "./dialects/anthropic/batches/batches.ts";
import { createBatchRequest } from "./dialects/anthropic/batches/schema.ts";
import { anthropicProtocol as anthropic } from "./dialects/anthropic/errors.ts";
import { handleCountTokens } from "./dialects/anthropic/messages/count-tokens.ts";
import { handleMessages } from "./dialects/anthropic/messages/messages.ts";
import { handleAnthropicModel, handleAnthropicModelList } from "./dialects/anthropic/models.ts";
import { countTokensRequest, messagesRequest } from "./dialects/anthropic/schema.ts";
import { pageQuery } from "./dialects/anthropic/select-page.ts";
import { handleAliasList, handleRemoveAlias, handleSetAlias } from "./dialects/ollama/aliases.ts";
import { handleHeadBlob, handleUploadBlob } from "./dialects/ollama/blobs.ts";
import { handleCreate } from "./dialects/ollama/create.ts";
import { handleEmbed, handleEmbeddings } from "./dialects/ollama/embed.ts";
import { ollamaProtocol as ollama } from "./dialects/ollama/errors.ts";
import { handleChat } from "./dialects/ollama/generation/chat.ts";
import { handleGenerate } from "./dialects/ollama/generation/generate.ts";
import { handleCopy, handleDelete, handlePs, handleShow, handleTags } from "./dialects/ollama/models.ts";
import { handleRender, handleTokenize } from "./dialects/ollama/prompts.ts";
import { handleQueue } from "./dialects/ollama/queue.ts";
import {
  aliasRequest,
  chatRequest,
  copyRequest,
  createRequest,
  deleteRequest,
  embeddingsRequest,
  embedRequest,
  generateRequest,
  removeAliasRequest,
  showRequest,
  tokenizeRequest,
  transferRequest,
} from "./dialects/ollama/schema.ts";
import { handleReady, handleRoot, handleStatus, handleVersion } from "./dialects/ollama/status.ts";
import { handlePull, handlePush } from "./dialects/ollama/transfers.ts";
import {
  handleCancelBatch as handleCancelOpenAIBatch,
  handleCreateBatch as handleCreateOpenAIBatch,
  handleGetBatch as handleGetOpenAIBatch,
  handleListBatches as handleListOpenAIBatches,
} from "./dialects/openai/batches/batches.ts";
import {
  batchListQuery,
  createBatchRequest as createOpenAIBatchRequest,
} from "./dialects/openai/batches/schema.ts";
import { handleChatCompletions } from "./dialects/openai/chat/chat-completions.ts";
import { handleCompletions } from "./dialects/openai/completions/completions.ts";
import { handleCreateEmbeddings } from "./dialects/openai/embeddings.ts";
import { openaiProtocol as openai } from "./dialects/openai/errors.ts";
import {
  fileListQuery,
  handleCreateFile,
  handleDeleteFile,
  handleFileContent,
  handleGetFile,
  handleListFiles,
} from "./dialects/openai/files/files.ts";
import { handleOpenAIModel, handleOpenAIModelList } from "./dialects/openai/models.ts";
import { handleRerank } from "./dialects/openai/rerank.ts";
import { handleCompact } from "./dialects/openai/responses/compact.ts";
import {
  handleCreateConversation,
  handleCreateConversationItems,
  handleDeleteConversation,
  handleDeleteConversationItem,
  handleGetConversation,
  handleGetConversationItem,
  handleListConversationItems,
  handleUpdateConversation,
} from "./dialects/openai/responses/conversations.ts";
import { handleInputTokens } from "./dialects/openai/responses/count-input-tokens.ts";
import { itemQuery, listQuery } from "./dialects/openai/responses/list-items.ts";
import { responsesProtocol as responses } from "./dialects/openai/responses/map-error.ts";
import { handleResponses } from "./dialects/openai/responses/responses.ts";
import {
  handleCancelResponse,
  handleDeleteResponse,
  handleGetResponse,
  handleListInputItems,
  responseQuery,
} from "./dialects/openai/responses/retrieve-response.ts";
import {
  compactRequest,
  createConversationRequest,
  createItemsRequest,
  inputTokensRequest,
  responsesRequest,
  updateConversationRequest,
} from "./dialects/openai/responses/schema.ts";
import {
  chatCompletionsRequest,
  completionsRequest,
  createEmbeddingsRequest,
  rerankRequest,
} from "./dialects/openai/schema.ts";
import { handleTranscriptions } from "./dialects/openai/transcriptions/transcriptions.ts";
import { handleMetrics, handleOpenApiDocument, handleOpenApiPage } from "./openapi/handlers.ts";
import type { Protocol } from "./protocol.ts";
import { handleUsage, handleUsageRequests, usageQuery, usageRequestsQuery } from "./usage/handlers.ts";
import { handleWebUi, handleWebUiFile, redirectBrowsers } from "./web-ui/handlers.ts";

/** One row of the route table. Every route requires an API key when the server has any. */
export type HearthRoute = Route<Actor, HearthDependencies> & {
  readonly protocol: Protocol;
  /** Keys for inference may not call it. */
  readonly role?: "admin";
};

/** The OpenAI and Anthropic APIs share some paths; errors there follow the client's API. */
const either: Protocol = {
  ...openai,
  errorResponse: (error, head) => (isAnthropicClient(head) ? anthropic : openai).errorResponse(error, head),
};

/** For requests that can contain images or audio; the limit of the others is in `server.ts`. */
export const maxBodyBytesWithImages: number = 32 * 1024 * 1024;

/** Every URL of Hearth; a GET row also handles HEAD. */
// biome-ignore format: a table is read down its columns
export const routes: readonly HearthRoute[] = [
  { method: "GET",    path: "/",                             protocol: ollama,    handle: redirectBrowsers(handleRoot) },
  { method: "GET",    path: "/readyz",                       protocol: ollama,    handle: handleReady },
  { method: "GET",    path: "/api/version",                  protocol: ollama,    handle: handleVersion },
  { method: "GET",    path: "/api/status",                   protocol: ollama,    handle: handleStatus },
  { method: "GET",    path: "/api/tags",                     protocol: ollama,    handle: handleTags },
  { method: "GET",    path: "/api/ps",                       protocol: ollama,    handle: handlePs },
  { method: "GET",    path: "/api/queue",                    protocol: ollama,    handle: handleQueue },
  { method: "GET",    path: "/api/usage",                    protocol: ollama,    ...accepts({ query: usageQuery }, handleUsage) },
  { method: "GET",    path: "/api/usage/requests",           protocol: ollama,    ...accepts({ query: usageRequestsQuery }, handleUsageRequests) },
  { method: "POST",   path: "/api/show",                     protocol: ollama,    ...accepts({ body: showRequest }, handleShow) },
  { method: "POST",   path: "/api/generate",                 protocol: ollama,    ...accepts({ body: generateRequest, maxBodyBytes: maxBodyBytesWithImages }, handleGenerate) },
  { method: "POST",   path: "/api/chat",                     protocol: ollama,    ...accepts({ body: chatRequest, maxBodyBytes: maxBodyBytesWithImages }, handleChat) },
  { method: "POST",   path: "/api/embed",                    protocol: ollama,    ...accepts({ body: embedRequest }, handleEmbed) },
  { method: "POST",   path: "/api/embeddings",               protocol: ollama,    ...accepts({ body: embeddingsRequest }, handleEmbeddings) },
  { method: "POST",   path: "/api/tokenize",                 protocol: ollama,    ...accepts({ body: tokenizeRequest }, handleTokenize) },
  { method: "POST",   path: "/api/render",                   protocol: ollama,    ...accepts({ body: chatRequest, maxBodyBytes: maxBodyBytesWithImages }, handleRender) },
  { method: "POST",   path: "/api/copy",                     protocol: ollama,    role: "admin", ...accepts({ body: copyRequest }, handleCopy) },
  { method: "DELETE", path: "/api/delete",                   protocol: ollama,    role: "admin", ...accepts({ body: deleteRequest }, handleDelete) },
  { method: "POST",   path: "/api/delete",                   protocol: ollama,    role: "admin", ...accepts({ body: deleteRequest }, handleDelete) },
  { method: "POST",   path: "/api/pull",                     protocol: ollama,    role: "admin", ...accepts({ body: transferRequest }, handlePull) },
  { method: "POST",   path: "/api/push",                     protocol: ollama,    role: "admin", ...accepts({ body: transferRequest }, handlePush) },
  { method: "POST",   path: "/api/create",                   protocol: ollama,    role: "admin", ...accepts({ body: createRequest }, handleCreate) },
  { method: "HEAD",   path: "/api/blobs/:digest",            protocol: ollama,    role: "admin", handle: handleHeadBlob },
  { method: "POST",   path: "/api/blobs/:digest",            protocol: ollama,    role: "admin", body: "stream", handle: handleUploadBlob },
  { method: "GET",    path: "/api/aliases",                  protocol: ollama,    handle: handleAliasList },
  { method: "POST",   path: "/api/aliases",                  protocol: ollama,    role: "admin", ...accepts({ body: aliasRequest }, handleSetAlias) },
  { method: "DELETE", path: "/api/aliases",                  protocol: ollama,    role: "admin", ...accepts({ body: removeAliasRequest }, handleRemoveAlias) },
  { method: "GET",    path: "/metrics",                      protocol: ollama,    role: "admin", handle: handleMetrics },
  { method: "GET",    path: "/openapi",                      protocol: ollama,    handle: handleOpenApiPage },
  { method: "GET",    path: "/openapi/:document",            protocol: ollama,    handle: handleOpenApiDocument },
  { method: "GET",    path: "/ui",                           protocol: ollama,    handle: handleWebUi },
  { method: "GET",    path: "/ui/",                          protocol: ollama,    handle: handleWebUi },
  { method: "GET",    path: "/ui/:path",                     protocol: ollama,    handle: handleWebUiFile },
  { method: "POST",   path: "/v1/chat/completions",          protocol: openai,    ...accepts({ body: chatCompletionsRequest, maxBodyBytes: maxBodyBytesWithImages }, handleChatCompletions) },
  { method: "POST",   path: "/v1/completions",               protocol: openai,    ...accepts({ body: completionsRequest }, handleCompletions) },
  { method: "POST",   path: "/v1/embeddings",                protocol: openai,    ...accepts({ body: createEmbeddingsRequest }, handleCreateEmbeddings) },
  { method: "POST",   path: "/v1/rerank",                    protocol: openai,    ...accepts({ body: rerankRequest }, handleRerank) },
  { method: "POST",   path: "/v1/responses",                 protocol: responses, ...accepts({ body: responsesRequest, maxBodyBytes: maxBodyBytesWithImages }, handleResponses) },
  { method: "POST",   path: "/v1/responses/input_tokens",    protocol: openai,    ...accepts({ body: inputTokensRequest, maxBodyBytes: maxBodyBytesWithImages }, handleInputTokens) },
  { method: "POST",   path: "/v1/responses/compact",         protocol: responses, ...accepts({ body: compactRequest, maxBodyBytes: maxBodyBytesWithImages }, handleCompact) },
  { method: "GET",    path: "/v1/responses/:id",             protocol: openai,    ...accepts({ query: responseQuery }, handleGetResponse) },
  { method: "DELETE", path: "/v1/responses/:id",             protocol: openai,    handle: handleDeleteResponse },
  { method: "POST",   path: "/v1/responses/:id/cancel",      protocol: openai,    handle: handleCancelResponse },
  { method: "GET",    path: "/v1/responses/:id/input_items", protocol: openai,    ...accepts({ query: listQuery }, handleListInputItems) },
  { method: "POST",   path: "/v1/conversations",             protocol: openai,    ...accepts({ body: createConversationRequest, maxBodyBytes: maxBodyBytesWithImages }, handleCreateConversation) },
  { method: "GET",    path: "/v1/conversations/:id",         protocol: openai,    handle: handleGetConversation },
  { method: "POST",   path: "/v1/conversations/:id",         protocol: openai,    ...accepts({ body: updateConversationRequest }, handleUpdateConversation) },
  { method: "DELETE", path: "/v1/conversations/:id",         protocol: openai,    handle: handleDeleteConversation },
  { method: "GET",    path: "/v1/conversations/:id/items",   protocol: openai,    ...accepts({ query: listQuery }, handleListConversationItems) },
  { method: "POST",   path: "/v1/conversations/:id/items",   protocol: openai,    ...accepts({ body: createItemsRequest, query: itemQuery, maxBodyBytes: maxBodyBytesWithImages }, handleCreateConversationItems) },
  { method: "GET",    path: "/v1/conversations/:id/items/:item", protocol: openai, ...accepts({ query: itemQuery }, handleGetConversationItem) },
  { method: "DELETE", path: "/v1/conversations/:id/items/:item", protocol: openai, handle: handleDeleteConversationItem },
  { method: "POST",   path: "/v1/files",                     protocol: either,    body: "form", maxBodyBytes: maxBodyBytesWithImages, handle: onlyOpenAI(handleCreateFile) },
  { method: "GET",    path: "/v1/files",                     protocol: either,    ...accepts({ query: fileListQuery }, onlyOpenAI(handleListFiles)) },
  { method: "GET",    path: "/v1/files/:id",                 protocol: either,    handle: onlyOpenAI(handleGetFile) },
  { method: "DELETE", path: "/v1/files/:id",                 protocol: either,    handle: onlyOpenAI(handleDeleteFile) },
  { method: "GET",    path: "/v1/files/:id/content",         protocol: either,    handle: onlyOpenAI(handleFileContent) },
  { method: "POST",   path: "/v1/batches",                   protocol: openai,    ...accepts({ body: createOpenAIBatchRequest }, handleCreateOpenAIBatch) },
  { method: "GET",    path: "/v1/batches",                   protocol: openai,    ...accepts({ query: batchListQuery }, handleListOpenAIBatches) },
  { method: "GET",    path: "/v1/batches/:id",               protocol: openai,    handle: handleGetOpenAIBatch },
  { method: "POST",   path: "/v1/batches/:id/cancel",        protocol: openai,    handle: handleCancelOpenAIBatch },
  { method: "POST",   path: "/v1/audio/transcriptions",      protocol: openai,    body: "form", maxBodyBytes: maxBodyBytesWithImages, handle: handleTranscriptions },
  { method: "GET",    path: "/v1/models",                    protocol: either,    ...accepts({ query: pageQuery }, byClient(handleOpenAIModelList, handleAnthropicModelList)) },
  { method: "GET",    path: "/v1/models/*",                  protocol: either,    handle: byClient(handleOpenAIModel, handleAnthropicModel) },
  { method: "POST",   path: "/chat/completions",             protocol: openai,    ...accepts({ body: chatCompletionsRequest, maxBodyBytes: maxBodyBytesWithImages }, handleChatCompletions) },
  { method: "POST",   path: "/completions",                  protocol: openai,    ...accepts({ body: completionsRequest }, handleCompletions) },
  { method: "POST",   path: "/embeddings",                   protocol: openai,    ...accepts({ body: createEmbeddingsRequest }, handleCreateEmbeddings) },
  { method: "POST",   path: "/responses",                    protocol: responses, ...accepts({ body: responsesRequest, maxBodyBytes: maxBodyBytesWithImages }, handleResponses) },
  { method: "GET",    path: "/models",                       protocol: openai,    handle: handleOpenAIModelList },
  { method: "POST",   path: "/v1/v1/chat/completions",       protocol: openai,    ...accepts({ body: chatCompletionsRequest, maxBodyBytes: maxBodyBytesWithImages }, handleChatCompletions) },
  { method: "POST",   path: "/v1/v1/completions",            protocol: openai,    ...accepts({ body: completionsRequest }, handleCompletions) },
  { method: "POST",   path: "/v1/v1/embeddings",             protocol: openai,    ...accepts({ body: createEmbeddingsRequest }, handleCreateEmbeddings) },
  { method: "POST",   path: "/v1/v1/responses",              protocol: responses, ...accepts({ body: responsesRequest, maxBodyBytes: maxBodyBytesWithImages }, handleResponses) },
  { method: "GET",    path: "/v1/v1/models",                 protocol: openai,    handle: handleOpenAIModelList },
  { method: "POST",   path: "/v1/v1/messages",               protocol: anthropic, ...accepts({ body: messagesRequest, maxBodyBytes: maxBodyBytesWithImages }, handleMessages) },
  { method: "POST",   path: "/v1/v1/messages/count_tokens",  protocol: anthropic, ...accepts({ body: countTokensRequest, maxBodyBytes: maxBodyBytesWithImages }, handleCountTokens) },
  { method: "POST",   path: "/v1/messages",                  protocol: anthropic, ...accepts({ body: messagesRequest, maxBodyBytes: maxBodyBytesWithImages }, handleMessages) },
  { method: "POST",   path: "/v1/messages/count_tokens",     protocol: anthropic, ...accepts({ body: countTokensRequest, maxBodyBytes: maxBodyBytesWithImages }, handleCountTokens) },
  { method: "POST",   path: "/v1/messages/batches",        protocol: anthropic, ...accepts({ body: createBatchRequest, maxBodyBytes: maxBodyBytesWithImages }, handleCreateBatch) },
  { method: "GET",    path: "/v1/messages/batches",        protocol: anthropic, ...accepts({ query: pageQuery }, handleListBatches) },
  { method: "GET",    path: "/v1/messages/batches/:id",    protocol: anthropic, handle: handleGetBatch },
  { method: "DELETE", path: "/v1/messages/batches/:id",    protocol: anthropic, handle: handleDeleteBatch },
  { method: "POST",   path: "/v1/messages/batches/:id/cancel", protocol: anthropic, handle: handleCancelBatch },
  { method: "GET",    path: "/v1/messages/batches/:id/results", protocol: anthropic, handle: handleBatchResults },
  { method: "POST",   path: "/alt/v1/messages",              protocol: anthropic, ...accepts({ body: messagesRequest, maxBodyBytes: maxBodyBytesWithImages }, handleMessages) },
  { method: "POST",   path: "/alt/v1/messages/count_tokens", protocol: anthropic, ...accepts({ body: countTokensRequest, maxBodyBytes: maxBodyBytesWithImages }, handleCountTokens) },
  { method: "POST",   path: "/alt/v1/messages/batches",    protocol: anthropic, ...accepts({ body: createBatchRequest, maxBodyBytes: maxBodyBytesWithImages }, handleCreateBatch) },
  { method: "GET",    path: "/alt/v1/messages/batches",    protocol: anthropic, ...accepts({ query: pageQuery }, handleListBatches) },
  { method: "GET",    path: "/alt/v1/messages/batches/:id", protocol: anthropic, handle: handleGetBatch },
  { method: "DELETE", path: "/alt/v1/messages/batches/:id", protocol: anthropic, handle: handleDeleteBatch },
  { method: "POST",   path: "/alt/v1/messages/batches/:id/cancel", protocol: anthropic, handle: handleCancelBatch },
  { method: "GET",    path: "/alt/v1/messages/batches/:id/results", protocol: anthropic, handle: handleBatchResults },
  { method: "GET",    path: "/alt/v1/models",                protocol: anthropic, ...accepts({ query: pageQuery }, handleAnthropicModelList) },
  { method: "GET",    path: "/alt/v1/models/*",              protocol: anthropic, handle: handleAnthropicModel },
];

function byClient(
  forOpenAI: HearthRoute["handle"],
  forAnthropic: HearthRoute["handle"],
): HearthRoute["handle"] {
  return (request, dependencies) =>
    (isAnthropicClient(request) ? forAnthropic : forOpenAI)(request, dependencies);
}

/** The Anthropic API has files under the same paths, which are not served. */
function onlyOpenAI<Request extends Pick<RequestHead, "headers">>(
  handle: Handler<Request, HearthDependencies>,
): Handler<Request, HearthDependencies> {
  return (request, dependencies) => {
    if (isAnthropicClient(request)) throw new RouteNotFoundError();
    return handle(request, dependencies);
  };
}

function isAnthropicClient({ headers }: Pick<RequestHead, "headers">): boolean {
  return headers["anthropic-version"] !== undefined;
}
