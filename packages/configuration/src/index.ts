/**
 * @module
 * Settings, declared once per program and read once at start: flags override the environment, the environment
 * overrides the file. All errors are reported together and the result is frozen. Help texts and the settings pages
 * are generated from the same declaration. Imported by each program's `config.ts` and `main.ts`.
 */
export { commandSetting } from "./command-setting.ts";
export { describeFlags, renderSettingsTable } from "./describe-settings.ts";
export { byteSizeSetting, durationSetting } from "./quantity-settings.ts";
export { readSettings, type Settings, SettingsError, type ValuesOf } from "./read-settings.ts";
export { serverSettings } from "./server-settings.ts";
export {
  booleanSetting,
  choiceSetting,
  InvalidValueError,
  integerSetting,
  listSetting,
  secretSetting,
  textSetting,
} from "./setting.ts";
export { isAddressRange, transportSettings } from "./transport-settings.ts";
