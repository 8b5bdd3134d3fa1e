import type { IncomingMessage, ServerResponse } from "node:http";
import type { InteractionResults, Provider } from "oidc-provider";
import { readForm } from "../read-form.ts";
import { renderSignInPage } from "../sign-in-page.ts";
import type { GeneralAccounts } from "./accounts.ts";

export const interactionPath = "/interaction/";

type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse };
type Dependencies = { readonly provider: Provider; readonly accounts: GeneralAccounts };
type Interaction = Awaited<ReturnType<Provider["interactionDetails"]>>;

/** The provider's two pages, sign-in and consent. The library requests whichever is still missing. */
export async function handleInteraction(
  exchange: Exchange,
  { provider, accounts }: Dependencies,
): Promise<void> {
  const { request, response } = exchange;
  const interaction = await provider.interactionDetails(request, response);
  if (request.method !== "POST") return showPage(exchange, interaction);
  const form = await readForm(request);
  if (form.get("decision") !== "allow") {
    const denial = { error: "access_denied", error_description: "The user denied access" };
    return provider.interactionFinished(request, response, denial);
  }
  if (interaction.prompt.name === "consent") {
    return provider.interactionFinished(request, response, await grantConsent(provider, interaction));
  }
  const account = accounts.findByEntry(form.get("account") ?? "");
  if (account === undefined) return showPage(exchange, interaction, "There is no such account");
  const login = { accountId: account.subject };
  return provider.interactionFinished(request, response, { login }, { mergeWithLastSubmission: false });
}

function showPage({ response }: Exchange, interaction: Interaction, errorText?: string): void {
  const { uid, params, prompt } = interaction;
  const isConsent = prompt.name === "consent";
  const page = renderSignInPage({
    title: isConsent ? "Allow access" : "Sign in",
    action: `${interactionPath}${uid}`,
    lines: [
      `${String(params["client_id"])} requests: ${String(params["scope"])}`,
      ...(errorText ? [errorText] : []),
    ],
    hasAccountField: !isConsent,
    allowLabel: isConsent ? "Allow" : "Sign in",
    denyLabel: isConsent ? "Deny" : "Cancel",
  });
  const status = errorText === undefined ? 200 : 400;
  response
    .writeHead(status, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" })
    .end(page);
}

async function grantConsent(provider: Provider, interaction: Interaction): Promise<InteractionResults> {
  const grant = new provider.Grant({
    accountId: interaction.session?.accountId,
    clientId: String(interaction.params["client_id"]),
  });
  grant.addOIDCScope(String(interaction.params["scope"]));
  return { consent: { grantId: await grant.save() } };
}
