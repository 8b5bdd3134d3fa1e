/**
 * @module
 * The one way out to other machines. Promises that every hop is checked for its scheme and for the address its name
 * stands for, that the connection goes to the very address that was checked, that credentials never leave the host
 * they are for, and that nothing is waited for or read without a bound.
 * Imported by whatever fetches or sends something over HTTP; no other code opens an outbound connection.
 */
export { createOutbound } from "./create-outbound.ts";
export {
  type Outbound,
  type OutboundAnswer,
  OutboundProblem,
  type OutboundReason,
  type OutboundRules,
  type RequestPlan,
} from "./outbound.ts";
