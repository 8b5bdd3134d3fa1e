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
