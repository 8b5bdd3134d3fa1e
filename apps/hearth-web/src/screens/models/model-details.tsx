import { Loading } from "@hearth-and-keep/page-design";
import { useEffect, useState } from "react";
import { Dialog } from "../../design/dialog.tsx";
import { formatBytes } from "../../design/format-bytes.ts";
import { type RequestError, request, toRequestError } from "../../server-api/api-client.ts";
import { isRemote, type Model } from "../../state/models.ts";
import { RequestErrorNotice } from "../error-notice.tsx";

/** The response of `/api/show`. */
type ShowResponse = {
  readonly template?: string;
  readonly parameters?: string;
  readonly system?: string;
  readonly license?: string;
  readonly model_info?: Readonly<Record<string, unknown>>;
};

export function ModelDetails({ model, onClose }: { readonly model: Model; readonly onClose: () => void }) {
  const [details, setDetails] = useState<ShowResponse>();
  const [error, setError] = useState<RequestError>();
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    request<ShowResponse>("/api/show", { method: "POST", body: { model: model.name }, signal })
      .then(setDetails)
      .catch((thrown: unknown) => {
        if (!signal.aborted) setError(toRequestError(thrown));
      });
    return () => controller.abort();
  }, [model.name]);
  return (
    <Dialog title={model.name} shape="wide" onClose={onClose}>
      <Properties properties={summarize(model)} />
      {error !== undefined && <RequestErrorNotice error={error} />}
      {details === undefined && error === undefined && <Loading label="Loading details" />}
      {details !== undefined && (
        <>
          <TextSection title="System prompt" text={details.system} isOpen />
          <TextSection title="Parameters" text={details.parameters} isOpen />
          <TextSection title="Template" text={details.template} />
          <TextSection title="License" text={details.license} />
          <details className="disclosure">
            <summary>All metadata</summary>
            <Properties
              properties={Object.entries(details.model_info ?? {}).map(([name, value]) => [
                name,
                formatValue(value),
              ])}
            />
          </details>
        </>
      )}
    </Dialog>
  );
}

function summarize(model: Model): readonly (readonly [string, string])[] {
  const { size, details, digest, modified_at: modifiedAt, capabilities } = model;
  const context = details.context_length?.toLocaleString("en");
  const properties: readonly (readonly [string, string | undefined])[] = [
    ["Size", isRemote(model) ? "Runs on a remote engine" : formatBytes(size)],
    ["Parameters", details.parameter_size],
    ["Quantization", details.quantization_level],
    ["Family", details.family],
    ["Context length", context === undefined ? undefined : `${context} tokens`],
    ["Capabilities", capabilities.join(", ")],
    ["Modified", new Date(modifiedAt).toLocaleString()],
    ["Digest", digest.slice(0, 12)],
  ];
  return properties.flatMap(([name, value]): [string, string][] => (value ? [[name, value]] : []));
}

function Properties({ properties }: { readonly properties: readonly (readonly [string, string])[] }) {
  return (
    <dl className="properties">
      {properties.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

type TextSectionProps = {
  readonly title: string;
  readonly text: string | undefined;
  readonly isOpen?: boolean;
};

function TextSection({ title, text = "", isOpen = false }: TextSectionProps) {
  if (text.trim() === "") return null;
  return (
    <details className="disclosure" open={isOpen}>
      <summary>{title}</summary>
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}

const maxValueCharacters = 200;

function formatValue(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > maxValueCharacters ? `${text.slice(0, maxValueCharacters)}…` : text;
}
