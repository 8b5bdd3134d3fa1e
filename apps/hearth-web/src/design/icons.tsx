import { icon } from "@hearth-and-keep/page-design";

export const FlameIcon = icon(
  "M12 3c.8 3.6-3.6 5.4-3.6 9.2a3.6 3.6 0 0 0 7.2 0c0-1.8-.9-2.8-.9-2.8 2.7 1 4.3 3.6 4.3 6.2a7 7 0 0 1-14 0C5 10.4 10.3 8.6 12 3z",
);
export const ChatIcon = icon("M4 5h16v11H9l-5 4z");
export const ModelsIcon = icon("M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9");
export const LiveIcon = icon("M3 12h4l3-7 4 14 3-7h4");
export const UsageIcon = icon("M4 20h16M7 16v-5M12 16V5M17 16V9");
export const ConnectIcon = icon("M8 8l-4 4 4 4M16 8l4 4-4 4M14 5l-4 14");
export const SystemIcon = icon("M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16");
export const LightIcon = icon(
  "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19",
);
export const DarkIcon = icon("M20 14.5A8.5 8.5 0 0 1 9.5 4a8 8 0 1 0 10.5 10.5z");
export const KeyboardIcon = icon("M3 7h18v10H3zM7 11h.01M11 11h.01M15 11h.01M8 14h8");
export const SendIcon = icon("M12 19V6M6 12l6-6 6 6");
export const StopIcon = icon("M7 7h10v10H7z");
export const ImageIcon = icon("M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01");
export const SettingsIcon = icon("M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4M4 12h4M12 12h8M10 10v4");
export const EditIcon = icon("M4 20l1-4L16 5l3 3L8 19zM14 7l3 3");
export const RegenerateIcon = icon("M20 11a8 8 0 1 0-2 6M20 5v6h-6");
export const DeleteIcon = icon("M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13");
export const ListIcon = icon("M4 6h16M4 12h16M4 18h10");
export const DownIcon = icon("M12 5v14M6 13l6 6 6-6");
export const DownloadIcon = icon("M12 4v11M7 10l5 5 5-5M4 20h16");
