/**
 * @module
 * A listening HTTP server made from a table of routes: limits on everything a caller can send or withhold,
 * a request id on every answer, one record per request, and an orderly end.
 * It knows no program: failures are answered by a function the program passes in.
 * Imported by each program's `server.ts`, `routes.ts` and handlers; use cases never see it.
 */
export { type Answer, jsonAnswer, type StreamAnswer, textAnswer, type WholeAnswer } from "./answer.ts";
export {
  type CertificateFiles,
  keepCertificateFresh,
  readCertificate,
} from "./certificate-files.ts";
export { AddressError } from "./listening.ts";
export { BodyProblem } from "./read-body.ts";
export { type Call, type CallHead, type RequestNotes, type Route } from "./route.ts";
export { serveUntil } from "./serve-until.ts";
export {
  type Certificate,
  createHttpService,
  type HttpService,
  NoSuchMethod,
  NoSuchRoute,
  type RequestRecord,
  type Transport,
} from "./service.ts";
export { type StreamBounds, streamBody } from "./stream-body.ts";
export { answerWebPage, answerWebPart, readWebFiles, type WebFile, type WebFiles } from "./web-files.ts";
