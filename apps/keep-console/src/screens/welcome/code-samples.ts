export type SampleOptions = {
  readonly origin: string;
  readonly vaultId: string;
  readonly path: string;
  /** The token, or a mask while it is hidden. */
  readonly token: string;
};

type CodeSnippet = { readonly label: string; readonly text: string };

export type CodeSample = {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly snippets: readonly CodeSnippet[];
};

/** Ways to read one secret, shortest first. */
export function codeSamples(options: SampleOptions): readonly CodeSample[] {
  const { token } = options;
  const url = secretUrl(options);
  return [
    {
      id: "curl",
      label: "curl",
      description: "Paste this into a terminal. It prints the value.",
      snippets: [{ label: "Terminal", text: curlCommand(url, token) }],
    },
    {
      id: "node",
      label: "Node",
      description: "Requires Node 20 or newer, no packages.",
      snippets: [
        { label: "read-secret.mjs", text: nodeScript(url) },
        { label: "Terminal", text: `KEEP_TOKEN=${token} node read-secret.mjs` },
      ],
    },
    {
      id: "python",
      label: "Python",
      description: "Requires Python 3, no packages.",
      snippets: [
        { label: "read_secret.py", text: pythonScript(url) },
        { label: "Terminal", text: `KEEP_TOKEN=${token} python3 read_secret.py` },
      ],
    },
    {
      id: "github-actions",
      label: "GitHub Actions",
      description: `Store the token as a repository secret, then add the step to a workflow. The runner must be able to reach ${options.origin}.`,
      snippets: [
        { label: "Repository secret KEEP_TOKEN", text: token },
        { label: "Workflow step", text: workflowStep(url, variableName(options.path)) },
      ],
    },
  ];
}

/** Percent-encodes every character with a meaning in a shell or in a string literal. */
function secretUrl({ origin, vaultId, path }: SampleOptions): string {
  const segments = path.split("/").filter((segment) => segment !== "");
  return `${origin}/api/secrets/vaults/${vaultId}/values/by-path/${segments.map(encodeStrictly).join("/")}`;
}

function encodeStrictly(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*~]/gu,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function curlCommand(url: string, token: string): string {
  return `curl --fail-with-body -H "Authorization: Bearer ${token}" -H "Accept: application/octet-stream" "${url}"`;
}

function nodeScript(url: string): string {
  return `const response = await fetch("${url}", {
  headers: { authorization: \`Bearer \${process.env.KEEP_TOKEN}\` },
});
if (!response.ok) throw new Error(\`Keep returned \${response.status}\`);
const { value } = await response.json();
console.log(value);`;
}

function pythonScript(url: string): string {
  return `import json, os, urllib.request

request = urllib.request.Request(
    "${url}",
    headers={"Authorization": "Bearer " + os.environ["KEEP_TOKEN"]},
)
with urllib.request.urlopen(request) as response:
    value = json.load(response)["value"]
print(value)`;
}

function workflowStep(url: string, variable: string): string {
  return `- name: Read a secret from Keep
  env:
    KEEP_TOKEN: \${{ secrets.KEEP_TOKEN }}
  run: |
    ${variable}="$(curl --fail --silent --show-error \\
      -H "Authorization: Bearer $KEEP_TOKEN" \\
      -H "Accept: application/octet-stream" \\
      "${url}")"
    echo "::add-mask::$${variable}"
    export ${variable}
    ./your-program`;
}

/** A valid shell variable name derived from the secret name. */
function variableName(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).replaceAll(/[^A-Za-z0-9_]/gu, "_");
  return /^[A-Za-z]/u.test(name) ? name : `SECRET_${name}`;
}
