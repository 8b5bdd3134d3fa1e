/**
 * @module
 * Keep's HTTP API as schemas: every request and response body, with a bound on every string, list and number. The server
 * validates requests and generates its OpenAPI document from them; the console and the command line derive types.
 * Imported by Keep, its console and its command line; contains no code that needs Node.
 */
export {
  type Account,
  account,
  accountDeletion,
  type Session,
  type SessionList,
  session,
  sessionList,
} from "./accounts.ts";
export {
  type AuditKeys,
  type AuditPage,
  auditCheckpoints,
  auditEventTypes,
  auditKeys,
  auditPage,
  auditQuery,
  type DailyCounts,
  dailyCounts,
  dailyQuery,
} from "./audit.ts";
export {
  compareQuery,
  type FolderComparison,
  folderComparison,
  type PromotionReport,
  promotion,
  promotionReport,
} from "./environments.ts";
export {
  type ExportedFile,
  exportedFile,
  exportQuery,
  type ImportReport,
  importQuery,
  importReport,
  importRequest,
  type SecretValues,
  secretValues,
  valuesQuery,
} from "./exchange.ts";
export { alive, notReady, ready } from "./health.ts";
export { operation, startedOperation } from "./operations.ts";
export {
  type OperatorAccount,
  operatorAccount,
  operatorAccountPage,
  operatorAccountQuery,
} from "./operators.ts";
export {
  type Invitation,
  type IssuedInvitation,
  invitationAcceptance,
  invitationList,
  issuedInvitation,
  type Member,
  member,
  memberChange,
  memberPage,
  memberQuery,
  newInvitation,
  newOrganisation,
  type Organisation,
  organisation,
  organisationChanges,
  organisationDeletion,
  organisationList,
} from "./organisations.ts";
export { type Problem, type ProblemCode, problem, problemCodes } from "./problem.ts";
export {
  type BatchOperation,
  type BatchOutcome,
  batch,
  batchOutcome,
  type FolderPage,
  folder,
  folderDeletionQuery,
  folderListQuery,
  folderMove,
  folderOutcome,
  folderPage,
  type NewSecretBody,
  newFolder,
  newSecret,
  pageQuery,
  type SecretChangesBody,
  type SecretMetadata,
  type SecretPage,
  type SecretValue,
  type SecretVersion,
  secret,
  secretChanges,
  secretListQuery,
  secretPage,
  secretValue,
  secretVersion,
  type VersionPage,
  valueByPathQuery,
  valueQuery,
  versionPage,
} from "./secrets.ts";
export { id, label, timestamp } from "./shared-fields.ts";
export {
  type ApiToken,
  apiToken,
  issuedToken,
  leakedTokens,
  leakedTokensResponse,
  type NewToken,
  newToken,
  revocationQuery,
  scopeNames,
  tokenChange,
  tokenPage,
  tokenQuery,
  tokenRotation,
} from "./tokens.ts";
export {
  deletionQuery,
  newVault,
  type Vault,
  type VaultDetail,
  vault,
  vaultChanges,
  vaultDetail,
  vaultList,
  vaultListQuery,
} from "./vaults.ts";
export {
  accessTokenType,
  type ExchangeAttempts,
  type ExchangedToken,
  exchangeAttempts,
  exchangedToken,
  type NewTrustRule,
  newTrustRule,
  type OAuthError,
  oauthError,
  type TrustRule,
  type TrustRuleChanges,
  tokenExchange,
  trustRule,
  trustRuleChanges,
  trustRuleList,
} from "./workload.ts";
