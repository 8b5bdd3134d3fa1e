import type { Member, Organisation, Session } from "@hearth-and-keep/vault-contract";

export type OrganisationTabProps = {
  readonly session: Session;
  readonly organisation: Organisation;
};

export type MemberDialogProps = OrganisationTabProps & {
  readonly member: Member;
  readonly onClose: () => void;
};
