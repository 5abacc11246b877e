import type { SamplingSettings } from '../../../engine/job.js';
import type { JsonSchema } from '../../../http/schema/json-schema.js';
import type { Profile } from '../../../profiles/profile.js';
import { SAMPLING_FIELDS } from './to-job.js';

const SETTING_OF: Readonly<Record<string, readonly [keyof SamplingSettings, unknown]>> = SAMPLING_FIELDS;

/** The default of a request field, for documentation: the mode's sampling default if it has one, else the schema's. */
export function defaultOf(name: string, schema: JsonSchema, { sampling }: Profile): unknown {
  const setting = SETTING_OF[name]?.[0];
  return setting === undefined ? schema.default : sampling[setting];
}
