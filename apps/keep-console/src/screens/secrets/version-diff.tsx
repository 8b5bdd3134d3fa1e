import { Failed, Loading } from "@hearth-and-keep/page-design";
import type { SecretMetadata, SecretValue } from "@hearth-and-keep/vault-contract";
import { useEffect, useState } from "react";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { valuePath } from "./api-paths.ts";
import { DiffView } from "./diff-view.tsx";
import { Countdown } from "./revealed.tsx";
import { useSight } from "./use-reveal-timer.ts";

export type VersionDiffProps = {
  readonly vaultId: string;
  readonly secret: Pick<SecretMetadata, "id" | "version">;
  readonly version: number;
  /** Also when its time is over. */
  readonly onClose: () => void;
};

/** What was taken out and put in from an old version to the one of now. */
export function VersionDiff({ vaultId, secret, version, onClose }: VersionDiffProps) {
  const [texts, setTexts] = useState<{ readonly before: string; readonly after: string }>();
  const { run, problem } = useDoing();
  const sight = useSight(true);
  const isSeen = sight.secondsLeft !== undefined;
  useEffect(() => {
    void run(async () => {
      const [before, after] = await Promise.all(
        [version, secret.version].map((which) =>
          ask<SecretValue>(valuePath(vaultId, secret.id, { version: which })),
        ),
      );
      setTexts({ before: before?.body.value ?? "", after: after?.body.value ?? "" });
    });
  }, [run, vaultId, secret.id, secret.version, version]);
  useEffect(() => {
    if (!isSeen) onClose();
  }, [isSeen, onClose]);
  if (problem !== undefined) return <Failed text={problem.message} />;
  if (texts === undefined || !isSeen) return <Loading lines={2} label="Loading both versions" />;
  return (
    <div className="stack tight">
      <h3>
        From version {version} to version {secret.version}
      </h3>
      <DiffView {...texts} />
      <Countdown sight={sight} />
    </div>
  );
}
