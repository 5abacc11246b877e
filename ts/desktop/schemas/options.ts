/** Rows of the table of load options. */
import {
  anything,
  arrayOf,
  boolean,
  number,
  objectOf,
  oneOf,
  orNull,
  type Static,
  string,
} from '../../http/schema/json-schema.js';

export const optionRow = objectOf({
  name: string,
  flag: orNull(string),
  type: oneOf('boolean', 'integer', 'number', 'string', 'path', 'choice', 'names', 'paths', 'texts', 'shares'),
  default: anything,
  minimum: orNull(number),
  maximum: orNull(number),
  unit: orNull(string),
  choices: orNull(arrayOf(string)),
  nullable: boolean,
  help: string,
  /** Description of the default. */
  otherwise: orNull(string),
  group: string,
});

export const optionList = objectOf({ options: arrayOf(optionRow) });

export type OptionForm = Static<typeof optionRow>;
