/** Constraints of the completion in the fields of vLLM and SGLang. */
import {
  arrayOf,
  boolean,
  field,
  limited,
  objectOf,
  orNull,
  orString,
  type Static,
  string,
} from '../../../http/schema/json-schema.js';
import { jsonSchema } from '../../../http/schema/variants.js';

const MAX_CHOICES = 1024;

const notEmpty = limited(string, { minLength: 1 });
const schemaOrText = orString(jsonSchema);
const choices = limited(arrayOf(string), { minItems: 1, maxItems: MAX_CHOICES });

export const structuredOutputs = objectOf(
  {},
  {
    json: orNull(schemaOrText),
    regex: orNull(notEmpty),
    choice: orNull(choices),
    grammar: orNull(notEmpty),
    json_object: orNull(boolean),
    structural_tag: orNull(string),
  },
);

export const constraintFields = {
  structured_outputs: field(
    'The form of the completion, as in vLLM: one of `json`, `json_object`, `regex`, `choice` and `grammar`.',
    structuredOutputs,
  ),
  guided_json: field('Older name of `structured_outputs.json`: a JSON schema, also as text.', schemaOrText),
  guided_regex: field('Older name of `structured_outputs.regex`.', notEmpty),
  guided_choice: field('Older name of `structured_outputs.choice`: the permitted completions.', choices),
  guided_grammar: field('Older name of `structured_outputs.grammar`: a grammar in GBNF or Lark.', notEmpty),
  regex: field('A regular expression that the whole completion must match (SGLang).', notEmpty),
  ebnf: field('A grammar in GBNF or Lark that the completion must match (SGLang).', notEmpty),
  structural_tag: field('Refused: structural tags of vLLM and SGLang are not supported.', string),
};

export type Kind = keyof Static<typeof structuredOutputs>;
