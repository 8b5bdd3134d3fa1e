/**
 * Claims of tokens as the platforms document them, without times and audience. Names and ids are examples.
 * https://docs.github.com/actions/reference/openid-connect-reference, https://docs.gitlab.com/ci/secrets/id_token_authentication
 * and https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin
 */
export const claimSets = {
  /** With the subject of repositories that were created or renamed since July 2026: names with their ids. */
  github: {
    sub: "repo:octo-org@65/octo-repo@74:environment:prod",
    environment: "prod",
    ref: "refs/heads/main",
    sha: "example-sha",
    repository: "octo-org/octo-repo",
    repository_owner: "octo-org",
    actor_id: "12",
    repository_visibility: "private",
    repository_id: "74",
    repository_owner_id: "65",
    run_id: "example-run-id",
    run_number: "10",
    run_attempt: "2",
    runner_environment: "github-hosted",
    actor: "octocat",
    workflow: "example-workflow",
    head_ref: "",
    base_ref: "",
    event_name: "workflow_dispatch",
    ref_type: "branch",
    job_workflow_ref: "octo-org/octo-automation/.github/workflows/oidc.yml@refs/heads/main",
  },
  gitlab: {
    sub: "project_path:my-group/my-project:ref_type:branch:ref:feature-branch-1",
    namespace_id: "72",
    namespace_path: "my-group",
    project_id: "20",
    project_path: "my-group/my-project",
    user_id: "1",
    user_login: "sample-user",
    user_email: "sample-user@example.com",
    user_identities: [{ provider: "github", extern_uid: "2435223452345" }],
    pipeline_id: "574",
    pipeline_source: "push",
    job_id: "302",
    ref: "feature-branch-1",
    ref_type: "branch",
    ref_path: "refs/heads/feature-branch-1",
    ref_protected: "true",
    groups_direct: ["mygroup/mysubgroup"],
    environment: "test-environment2",
    environment_protected: "false",
    deployment_tier: "testing",
    deployment_action: "start",
    runner_id: 1,
    runner_environment: "self-hosted",
    sha: "714a629c0b401fdce83e847fc9589983fc6f46bc",
    project_visibility: "public",
  },
  kubernetes: {
    "kubernetes.io": {
      namespace: "my-namespace",
      node: { name: "my-node", uid: "646e7c5e-32d6-4d42-9dbd-e504e6cbe6b1" },
      pod: { name: "my-pod", uid: "5e0bd49b-f040-43b0-99b7-22765a53f7f3" },
      serviceaccount: { name: "my-serviceaccount", uid: "14ee3fa4-a7e2-420f-9f9a-dbc4507c3798" },
    },
    sub: "system:serviceaccount:my-namespace:my-serviceaccount",
  },
  generic: { sub: "workload-1", azp: "example" },
} as const;

export type PlatformName = keyof typeof claimSets;

/** A rule that is as narrow as each platform needs. */
export const safeConditions: Readonly<
  Record<PlatformName, readonly { readonly claim: string; readonly values: readonly string[] }[]>
> = {
  github: [
    { claim: "repository_id", values: ["74"] },
    { claim: "repository_owner_id", values: ["65"] },
    { claim: "environment", values: ["prod"] },
  ],
  gitlab: [
    { claim: "project_id", values: ["20"] },
    { claim: "ref_protected", values: ["true"] },
  ],
  kubernetes: [{ claim: "sub", values: ["system:serviceaccount:my-namespace:my-serviceaccount"] }],
  generic: [{ claim: "sub", values: ["workload-1"] }],
};
