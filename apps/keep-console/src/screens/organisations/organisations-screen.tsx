/**
 * @module
 * Organisations: those of which the person is a member, and for each its members, invitations, teams, vaults, tokens and
 * settings. Controls that the person's role does not allow are not shown; the server decides all the same. The link of an
 * invitation is in the document only while the dialog that shows it once is open.
 * Shown by `screens.tsx`.
 */
import { useLocation } from "@hearth-and-keep/page-design";
import type { Session } from "@hearth-and-keep/vault-contract";
import { OrganisationList } from "./organisation-list.tsx";
import { OrganisationScreen } from "./organisation-screen.tsx";

export default function OrganisationsScreen({ session }: { readonly session: Session }) {
  const { path } = useLocation();
  return path === "/organisations" ? <OrganisationList /> : <OrganisationScreen session={session} />;
}
