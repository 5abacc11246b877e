/** Rows of the table of load options, for a form. */
import { type Static, Type } from 'typebox';

const nullableText = Type.Union([Type.String(), Type.Null()]);
const nullableNumber = Type.Union([Type.Number(), Type.Null()]);

export const optionRow = Type.Object({
  name: Type.String(),
  flag: nullableText,
  type: Type.Enum(['boolean', 'integer', 'number', 'string', 'path', 'choice', 'names', 'paths', 'shares']),
  default: Type.Unknown(),
  minimum: nullableNumber,
  maximum: nullableNumber,
  unit: nullableText,
  choices: Type.Union([Type.Array(Type.String()), Type.Null()]),
  nullable: Type.Boolean(),
  help: Type.String(),
  /** What holds where the option is not given, in words. */
  otherwise: nullableText,
  group: Type.String(),
});

export const optionList = Type.Object({ options: Type.Array(optionRow) });

export type OptionForm = Static<typeof optionRow>;
