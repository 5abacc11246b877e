/** Settings of AJV for our own schemas. */
import type { Options } from 'ajv';

/**
 * Each of the two defaults doubles the compile time. Optimized code saves less than a microsecond per validation. The
 * check against the meta-schema is for schemas of others; strict mode still refuses unknown keywords.
 */
export const FAST_SCHEMAS = { strict: true, code: { optimize: false }, validateSchema: false } satisfies Options;
