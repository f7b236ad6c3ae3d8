import { readConfig, type Config } from '../config/config.js';
import { CARRIERS } from '../email/carriers/allCarriers.js';

export const CARRIER_SETTINGS = CARRIERS.flatMap(({ baseUrls }) => baseUrls);

/** Reads the settings from `env`. Throws ConfigError, which lists every problem and names no value. */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  return readConfig(env, CARRIER_SETTINGS);
}
