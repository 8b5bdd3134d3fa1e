/**
 * @module
 * The only HTTP client for other machines. Every hop is checked for its scheme and for the addresses its name resolves
 * to, the connection goes to the address that was checked, credentials are never sent to another origin, and every
 * wait and read has a limit.
 * No other code opens an outbound connection, except the engine client in `upstream-engine`.
 */
export { classifyAddress } from "./classify-address.ts";
export { createOutbound } from "./create-outbound.ts";
export {
  type Outbound,
  OutboundError,
  type OutboundReason,
  type OutboundRequestOptions,
  type OutboundResponse,
  type OutboundRules,
} from "./outbound.ts";
