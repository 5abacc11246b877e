/** The settings of a route that takes a body. */

import type { HttpContext } from './context.js';
import type { Operation } from './openapi/operation.js';
import { readFields } from './read-fields.js';
import type { JsonSchema } from './schema/json-schema.js';

/**
 * Bodies are checked by `schema`, and fields that it does not have are ignored or refused. `operation` is what the
 * OpenAPI document says about the route beside its schema.
 */
export function bodyRoute(
  { profile, options }: Pick<HttpContext, 'profile' | 'options'>,
  schema: JsonSchema & { properties: object },
  operation: Operation,
) {
  return {
    schema: { body: schema },
    config: { operation },
    preValidation: readFields(profile, options.strict, Object.keys(schema.properties)),
  };
}
