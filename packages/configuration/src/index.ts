/**
 * @module
 * What a person can set, declared once per program and read once at start: flags over environment over file.
 * All mistakes are reported together; the result is frozen. Help text and the settings page come from the same
 * declaration. Imported by each program's `config.ts` and `main.ts`; what an address is, by whoever else takes one.
 */
export { describeFlags, renderSettingsTable } from "./describe-settings.ts";
export { byteSizeSetting, durationSetting } from "./measure-settings.ts";
export { readSettings, type Settings, SettingsError, type ValuesOf } from "./read-settings.ts";
export { serverSettings } from "./server-settings.ts";
export {
  choiceSetting,
  listSetting,
  secretSetting,
  switchSetting,
  textSetting,
  wholeNumberSetting,
} from "./setting.ts";
export { isAddressRange, transportSettings } from "./transport-settings.ts";
