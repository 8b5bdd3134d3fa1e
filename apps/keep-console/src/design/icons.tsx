import { Icon, icon } from "@hearth-and-keep/page-design";

export const KeepIcon = () => (
  <Icon>
    <path d="M4 21V8l3 2V6l5 3 5-3v4l3-2v13z" />
    <circle cx="12" cy="14" r="2" />
    <path d="M12 16v2" />
  </Icon>
);
export const SecretsIcon = () => (
  <Icon>
    <rect x="4" y="10" width="16" height="11" rx="2" />
    <path d="M8 10V7a4 4 0 0 1 8 0v3" />
  </Icon>
);
export const TokenIcon = () => (
  <Icon>
    <circle cx="8" cy="15" r="4" />
    <path d="M11 12l9-9m-4 4l3 3" />
  </Icon>
);
export const AuditIcon = icon("M5 4h14v17l-3-2-2 2-2-2-2 2-2-2-3 2zM9 9h6M9 13h6");
export const AccountIcon = () => (
  <Icon>
    <circle cx="12" cy="8" r="4" />
    <path d="M4 21c0-4 4-6 8-6s8 2 8 6" />
  </Icon>
);
export const OrganisationIcon = icon(
  "M4 21V5l8-2v18M12 9l8 2v10M3 21h18M7 9h2M7 13h2M7 17h2M15 14h2M15 17h2",
);
export const TeamIcon = () => (
  <Icon>
    <circle cx="9" cy="8" r="3" />
    <path d="M3 20c0-4 3-6 6-6s6 2 6 6M15 5a3 3 0 0 1 0 6M17 14c3 1 4 3 4 6" />
  </Icon>
);
export const RuleIcon = () => (
  <Icon>
    <path d="M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6z" />
    <path d="M9 12l2 2 4-4" />
  </Icon>
);
export const OperatorIcon = () => (
  <Icon>
    <circle cx="9" cy="8" r="3" />
    <path d="M3 20c0-4 3-6 6-6 1 0 2 0 3 1" />
    <circle cx="17" cy="17" r="2" />
    <path d="M17 13v2M17 19v2M13 17h2M19 17h2" />
  </Icon>
);
export const InheritedIcon = icon("M12 4v14m-5-5l5 5 5-5");
export const MoreIcon = icon("M5 12h.01M12 12h.01M19 12h.01");
export const FolderIcon = icon("M3 6h6l2 3h10v10H3z");
export const DownIcon = icon("M6 9l6 6 6-6");
export const SearchIcon = () => (
  <Icon>
    <circle cx="11" cy="11" r="6" />
    <path d="M20 20l-4-4" />
  </Icon>
);
export const DownloadIcon = icon("M12 4v11m-5-4l5 5 5-5M5 20h14");
export const CodeHostingIcon = () => (
  <Icon>
    <circle cx="6" cy="5" r="2" />
    <circle cx="6" cy="19" r="2" />
    <circle cx="18" cy="8" r="2" />
    <path d="M6 7v10M18 10c0 4-12 2-12 7" />
  </Icon>
);
export const GeneralProviderIcon = () => (
  <Icon>
    <rect x="3" y="5" width="18" height="14" rx="2" />
    <circle cx="9" cy="11" r="2" />
    <path d="M6 16c1-2 5-2 6 0M15 10h3M15 14h3" />
  </Icon>
);
export const BrowserIcon = () => (
  <Icon>
    <rect x="3" y="4" width="18" height="13" rx="2" />
    <path d="M8 21h8M12 17v4" />
  </Icon>
);
