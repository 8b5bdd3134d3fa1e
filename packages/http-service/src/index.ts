/**
 * @module
 * An HTTP server built from a table of routes. It limits everything a client can send or delay, authenticates and
 * validates every request before its handler runs, puts a request id on every response, writes one log record per
 * request, and shuts down gracefully. It is independent of the programs: they pass in authentication and error mapping.
 * Imported by each program's `server.ts`, `routes.ts` and handlers, never by use cases.
 */
export { BodyBudgetError } from "./body-budget.ts";
export { type CertificateFiles, readCertificate, watchCertificate } from "./certificate-files.ts";
export type { Certificate, Transport } from "./create-server.ts";
export { AddressError } from "./listen.ts";
export { logDefect, requestLogFields } from "./log-defect.ts";
export { type FormField, type FormFile, type MultipartForm, parseMultipart } from "./parse-multipart.ts";
export { BodyError } from "./read-body.ts";
export type { RequestRecord } from "./request-context.ts";
export {
  type BufferedResponse,
  type HttpResponse,
  jsonResponse,
  type StreamedResponse,
  textResponse,
} from "./response.ts";
export type { Handler, HttpRequest, LogFields, RequestHead, Route } from "./route.ts";
export { serveUntil } from "./serve-until.ts";
export {
  createHttpService,
  type HttpService,
  MethodNotAllowedError,
  RouteNotFoundError,
} from "./service.ts";
export { type StreamLimits, streamBody } from "./stream-body.ts";
export { accepts, createRequestValidator, type FieldError, InvalidRequestError } from "./validate-request.ts";
export { readWebFiles, type WebFile, type WebFiles, webAssetResponse, webPageResponse } from "./web-files.ts";
