import { saveFile } from "@hearth-and-keep/page-design";
import { useState } from "react";
import { DownloadIcon } from "../../design/icons.tsx";
import { type RequestError, requestText, toRequestError } from "../../server-api/api-client.ts";
import { RequestErrorNotice } from "../error-notice.tsx";

export type CsvButtonProps = {
  /** Of the report on the screen; undefined while there is none. */
  readonly query: string | undefined;
};

/** Requests the file like any other response, so that the browser saves no error page in its place. */
export function CsvButton({ query }: CsvButtonProps) {
  const [isBusy, setIsBusy] = useState(false);
  const [error, setError] = useState<RequestError>();
  const download = async (shown: string): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      const text = await requestText(`/api/usage?${shown}&format=csv`);
      saveFile(nameOf(shown), new Blob([text], { type: "text/csv" }));
    } catch (thrown) {
      setError(toRequestError(thrown));
    }
    setIsBusy(false);
  };
  return (
    <>
      <button
        type="button"
        className="button small"
        disabled={query === undefined}
        aria-disabled={isBusy}
        onClick={query === undefined || isBusy ? undefined : () => void download(query)}
      >
        <DownloadIcon />
        {isBusy ? "Downloading…" : "Download CSV"}
      </button>
      {error !== undefined && <RequestErrorNotice error={error} />}
    </>
  );
}

function nameOf(query: string): string {
  const { from, to } = Object.fromEntries(new URLSearchParams(query));
  return `hearth-usage-${from}-to-${to}.csv`;
}
