import type { Session } from "@hearth-and-keep/vault-contract";
import { Confirm } from "../../design/confirm.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { needsFreshSignIn, SignInAgain } from "../../shell/sign-in-again.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { changed } from "../../vault-api/use-query.ts";
import { type Identity, nameThere, providerName } from "./providers.tsx";

export type UnlinkIdentityProps = {
  readonly session: Session;
  readonly identity: Identity;
  readonly onClose: () => void;
};

export function UnlinkIdentity({ session, identity, onClose }: UnlinkIdentityProps) {
  const { tell } = useToasts();
  const { isBusy, problem, run } = useDoing();
  const name = providerName(session, identity.provider);
  const isStale = needsFreshSignIn(problem);
  const unlink = (): void =>
    void run(async () => {
      await ask(`/api/account/identities/${identity.id}`, { method: "DELETE" });
      onClose();
      tell(`${name} is unlinked`);
      // Whoever came in by it is asked to sign in by these answers.
      changed("/api/account");
    });
  return (
    <Confirm
      title={`Unlink ${name}?`}
      action="Unlink"
      doing={{ isBusy, problem: isStale ? undefined : problem }}
      onConfirm={unlink}
      onClose={onClose}
    >
      <div className="stack">
        <p>
          Nobody signs in here as {nameThere(identity)} any more, and sessions that came in by it end at once.
          {identity.is_current && " You came in by it: this session ends too."} Vaults and tokens stay as they
          are, and you can link it again.
        </p>
        {isStale && <SignInAgain session={session} purpose={`unlink ${name}`} returnTo="/account" />}
      </div>
    </Confirm>
  );
}
