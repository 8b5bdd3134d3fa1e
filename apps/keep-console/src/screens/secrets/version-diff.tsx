import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { SecretMetadata, SecretValue } from "@hearth-and-keep/vault-contract";
import { useEffect, useState } from "react";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { valuePath } from "./api-paths.ts";
import { DiffView } from "./diff-view.tsx";
import { Countdown } from "./revealed-value.tsx";
import { useRevealTimer } from "./use-reveal-timer.ts";

export type VersionDiffProps = {
  readonly vaultId: string;
  readonly secret: Pick<SecretMetadata, "id" | "version">;
  readonly version: number;
  /** Also called when the reveal timer runs out. */
  readonly onClose: () => void;
};

/** Diff of an earlier version against the current one. */
export function VersionDiff({ vaultId, secret, version, onClose }: VersionDiffProps) {
  const [texts, setTexts] = useState<{ readonly before: string; readonly after: string }>();
  const { run, error } = useMutation();
  const timer = useRevealTimer(true);
  const isRevealed = timer.secondsLeft !== undefined;
  useEffect(() => {
    void run(async () => {
      const [before, after] = await Promise.all(
        [version, secret.version].map((number) =>
          request<SecretValue>(valuePath(vaultId, secret.id, { version: number })),
        ),
      );
      setTexts({ before: before?.body.value ?? "", after: after?.body.value ?? "" });
    });
  }, [run, vaultId, secret.id, secret.version, version]);
  useEffect(() => {
    if (!isRevealed) onClose();
  }, [isRevealed, onClose]);
  if (error !== undefined) return <ErrorNotice text={error.message} />;
  if (texts === undefined || !isRevealed) return <Loading lines={2} label="Loading versions" />;
  return (
    <div className="stack tight">
      <h3>
        Changes from version {version} to version {secret.version}
      </h3>
      <DiffView {...texts} />
      <Countdown timer={timer} />
    </div>
  );
}
