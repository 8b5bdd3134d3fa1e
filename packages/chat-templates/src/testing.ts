export { familyTemplatesFolder } from "./fixtures/family-templates.ts";
