import type { ProviderKind } from "./identity-provider.ts";

/** Neutral icons, not provider logos: the button text names the provider. Decorative. */
function svgIcon(paths: string): string {
  return `<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${paths}</svg>`;
}

export const keepIcon: string = svgIcon(
  '<path d="M4 21V8l3 2V6l5 3 5-3v4l3-2v13z"/><circle cx="12" cy="14" r="2"/><path d="M12 16v2"/>',
);

export const providerIcons: Readonly<Record<ProviderKind, string>> = {
  "code-hosting": svgIcon(
    '<circle cx="6" cy="5" r="2"/><circle cx="6" cy="19" r="2"/><circle cx="18" cy="8" r="2"/><path d="M6 7v10M18 10c0 4-12 2-12 7"/>',
  ),
  general: svgIcon(
    '<rect x="3" y="5" width="18" height="14" rx="2"/><circle cx="9" cy="11" r="2"/><path d="M6 16c1-2 5-2 6 0M15 10h3M15 14h3"/>',
  ),
};
