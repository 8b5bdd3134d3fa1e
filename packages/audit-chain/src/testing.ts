export { makeLinks } from "./test/make-links.ts";
