import type { JsonSchema } from '../../../http/schema/json-schema.js';
import { type SamplingField, SETTING_OF } from '../../../options/sampling-table.js';
import type { Profile } from '../../../profiles/profile.js';

/** The default of a request field, for documentation: the mode's sampling default if it has one, else the schema's. */
export function defaultOf(name: string, schema: JsonSchema, { sampling }: Profile): unknown {
  return Object.hasOwn(SETTING_OF, name) ? sampling[SETTING_OF[name as SamplingField]] : schema.default;
}
