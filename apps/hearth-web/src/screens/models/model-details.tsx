import { Loading } from "@hearth-and-keep/page-design";
import { useEffect, useState } from "react";
import { Dialog } from "../../design/dialog.tsx";
import { FailedRequest } from "../../design/failed-request.tsx";
import { bytesInWords } from "../../design/format-bytes.ts";
import { ask, asProblem, type ServerProblem } from "../../server-api/api-client.ts";
import type { Model } from "../../state/models.ts";

/** As `/api/show` tells it. */
type Shown = {
  readonly template?: string;
  readonly parameters?: string;
  readonly system?: string;
  readonly license?: string;
  readonly model_info?: Readonly<Record<string, unknown>>;
};

export function ModelDetails({ model, onClose }: { readonly model: Model; readonly onClose: () => void }) {
  const [shown, setShown] = useState<Shown>();
  const [problem, setProblem] = useState<ServerProblem>();
  useEffect(() => {
    const end = new AbortController();
    ask<Shown>("/api/show", { method: "POST", body: { model: model.name }, signal: end.signal })
      .then(setShown)
      .catch((thrown: unknown) => {
        if (!end.signal.aborted) setProblem(asProblem(thrown));
      });
    return () => end.abort();
  }, [model.name]);
  return (
    <Dialog title={model.name} shape="wide" onClose={onClose}>
      <Facts facts={factsOf(model)} />
      {problem !== undefined && <FailedRequest problem={problem} />}
      {shown === undefined && problem === undefined && <Loading label="Loading the details" />}
      {shown !== undefined && (
        <>
          <Part title="System prompt" text={shown.system} isOpen />
          <Part title="Parameters" text={shown.parameters} isOpen />
          <Part title="Template" text={shown.template} />
          <Part title="Licence" text={shown.license} />
          <details className="part">
            <summary>Everything in the model file</summary>
            <Facts
              facts={Object.entries(shown.model_info ?? {}).map(([name, value]) => [name, inWords(value)])}
            />
          </details>
        </>
      )}
    </Dialog>
  );
}

function factsOf({ size, details, digest, modified_at: modifiedAt, capabilities }: Model) {
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["Size", bytesInWords(size)],
    ["Parameters", details.parameter_size],
    ["Quantization", details.quantization_level],
    ["Family", details.family],
    ["Context", details.context_length === undefined ? undefined : `${details.context_length} tokens`],
    ["Can do", capabilities.join(", ")],
    ["Changed", new Date(modifiedAt).toLocaleString()],
    ["Digest", digest.slice(0, 12)],
  ];
  return facts.flatMap(([name, value]): [string, string][] => (value ? [[name, value]] : []));
}

function Facts({ facts }: { readonly facts: readonly (readonly [string, string])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="breaks">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

type PartProps = { readonly title: string; readonly text: string | undefined; readonly isOpen?: boolean };

function Part({ title, text = "", isOpen = false }: PartProps) {
  if (text.trim() === "") return null;
  return (
    <details className="part" open={isOpen}>
      <summary>{title}</summary>
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}

const mostShown = 200;

function inWords(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text;
}
