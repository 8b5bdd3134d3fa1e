/**
 * @module
 * What both browser pages are drawn with: the parts that each of them has, the address as a value with links that
 * change it, and `design.css`, which is the ground of both. A page gives the colours and the corners, and whatever it
 * alone has. Promises that each part works by keyboard and is understood by a screen reader, and that nothing here
 * knows of models, chats, vaults or accounts.
 * Imported by the browser apps; their `look.css` imports the style.
 */

export { type Address, go, Link, type LinkProps, useAddress } from "./address.tsx";
export { CopyButton, type CopyButtonProps } from "./copy-button.tsx";
export { AddIcon, CloseIcon, CopyIcon, DoneIcon, Icon, icon, WarnIcon } from "./icons.tsx";
export { Main, type MainProps, SkipLink } from "./main-landmark.tsx";
export { Front, FrontClose, type FrontProps, FrontTitle } from "./modal.tsx";
export { Failed, type FailedProps, Loading, Notice, type NoticeProps } from "./states.tsx";
