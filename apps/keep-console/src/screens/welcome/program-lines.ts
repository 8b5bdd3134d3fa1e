/** What somebody's program needs to read one secret. */
export type Reading = {
  readonly origin: string;
  readonly vaultId: string;
  readonly path: string;
  /** The token, or what stands for it while it is hidden. */
  readonly token: string;
};

type Lines = { readonly label: string; readonly text: string };

export type Way = {
  readonly id: string;
  readonly label: string;
  /** Said above the lines. */
  readonly intent: string;
  readonly lines: readonly Lines[];
};

/** The ways to read it, the shortest first. */
export function waysToRead(reading: Reading): readonly Way[] {
  const { token } = reading;
  const url = urlOf(reading);
  return [
    {
      id: "curl",
      label: "curl",
      intent: "Paste this into a terminal. It prints the value.",
      lines: [{ label: "Terminal", text: curlLine(url, token) }],
    },
    {
      id: "node",
      label: "Node",
      intent: "Needs Node 20 or newer and no package.",
      lines: [
        { label: "read-secret.mjs", text: nodeLines(url) },
        { label: "Terminal", text: `KEEP_TOKEN=${token} node read-secret.mjs` },
      ],
    },
    {
      id: "python",
      label: "Python",
      intent: "Needs Python 3 and no package.",
      lines: [
        { label: "read_secret.py", text: pythonLines(url) },
        { label: "Terminal", text: `KEEP_TOKEN=${token} python3 read_secret.py` },
      ],
    },
    {
      id: "github-actions",
      label: "GitHub Actions",
      intent: `Store the token as a secret of the repository, then add the step. The runner has to reach ${reading.origin}.`,
      lines: [
        { label: "Repository secret KEEP_TOKEN", text: token },
        { label: "Step of a workflow", text: stepLines(url, variableOf(reading.path)) },
      ],
    },
  ];
}

/** Every character that a shell or a program's text could take for its own is written as a number. */
function urlOf({ origin, vaultId, path }: Reading): string {
  const segments = path.split("/").filter((segment) => segment !== "");
  return `${origin}/api/secrets/vaults/${vaultId}/values/by-path/${segments.map(encodePlainly).join("/")}`;
}

function encodePlainly(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*~]/gu,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function curlLine(url: string, token: string): string {
  return `curl --fail-with-body -H "Authorization: Bearer ${token}" -H "Accept: application/octet-stream" "${url}"`;
}

function nodeLines(url: string): string {
  return `const response = await fetch("${url}", {
  headers: { authorization: \`Bearer \${process.env.KEEP_TOKEN}\` },
});
if (!response.ok) throw new Error(\`Keep answered \${response.status}\`);
const { value } = await response.json();
console.log(value);`;
}

function pythonLines(url: string): string {
  return `import json, os, urllib.request

request = urllib.request.Request(
    "${url}",
    headers={"Authorization": "Bearer " + os.environ["KEEP_TOKEN"]},
)
with urllib.request.urlopen(request) as response:
    value = json.load(response)["value"]
print(value)`;
}

function stepLines(url: string, variable: string): string {
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

/** A name that shells take, made of the secret's. */
function variableOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).replaceAll(/[^A-Za-z0-9_]/gu, "_");
  return /^[A-Za-z]/u.test(name) ? name : `SECRET_${name}`;
}
