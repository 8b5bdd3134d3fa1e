const { EXTERNAL_SECRETS: reader } = process.env;

/** A program around the operator's webhook provider, compiled outside the repository; empty unless the variable is set. */
export const externalSecretsReaders: readonly string[] = reader === undefined ? [] : [reader];

/** Names the variable when it is not set. */
export const missingReaders: readonly string[] = reader === undefined ? ["EXTERNAL_SECRETS"] : [];

export const buildScript = "integrations/kubernetes/test/build-external-secrets.sh";
