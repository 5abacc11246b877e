import type { LOAD_OPTIONS } from './load-option-table.js';
import type { OptionsOf } from './option-row.js';

/**
 * Other names and values are refused with `invalid_options`. The build describes each option in the compiled declaration
 * (native/tooling/describe-options.mjs).
 */
export interface DescribedLoadOptions extends OptionsOf<typeof LOAD_OPTIONS> {}
