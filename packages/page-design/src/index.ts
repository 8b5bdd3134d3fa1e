/**
 * @module
 * Components that both browser apps share, the current URL as a hook with links that change it, and `design.css`, the
 * base style sheet. Each app defines its colors and radii, and its own components. Every component works by keyboard
 * and with screen readers; nothing here knows about models, chats, vaults or accounts.
 * Imported by the browser apps; their `theme.css` imports the style sheet.
 */

export { CopyButton, type CopyButtonProps } from "./copy-button.tsx";
export { ErrorNotice, type ErrorNoticeProps, Loading, Notice, type NoticeProps } from "./feedback.tsx";
export { AddIcon, CloseIcon, CopyIcon, DoneIcon, Icon, icon, WarnIcon } from "./icons.tsx";
export { MainLandmark, type MainLandmarkProps, SkipLink } from "./main-landmark.tsx";
export { Modal, ModalClose, type ModalProps, ModalTitle } from "./modal.tsx";
export { Link, type LinkProps, navigate, type PageLocation, useLocation } from "./navigation.tsx";
export { saveFile } from "./save-file.ts";
