/** Constraints of the completion in the fields of vLLM and SGLang. */
import * as s from '../../../http/schema/json-schema.js';
import { jsonSchema } from '../../../http/schema/variants.js';

const MAX_CHOICES = 1024;

const notEmpty = s.limited(s.string, { minLength: 1 });
const schemaOrText = s.orString(jsonSchema);
const choices = s.limited(s.arrayOf(s.string), { minItems: 1, maxItems: MAX_CHOICES });

export const structuredOutputs = s.objectOf(
  {},
  {
    json: s.orNull(schemaOrText),
    regex: s.orNull(notEmpty),
    choice: s.orNull(choices),
    grammar: s.orNull(notEmpty),
    json_object: s.orNull(s.boolean),
    structural_tag: s.orNull(s.string),
  },
);

export const constraintFields = {
  structured_outputs: s.field(
    'The form of the completion, as in vLLM: one of `json`, `json_object`, `regex`, `choice` and `grammar`.',
    structuredOutputs,
  ),
  guided_json: s.field('Older name of `structured_outputs.json`: a JSON schema, also as text.', schemaOrText),
  guided_regex: s.field('Older name of `structured_outputs.regex`.', notEmpty),
  guided_choice: s.field('Older name of `structured_outputs.choice`: the permitted completions.', choices),
  guided_grammar: s.field('Older name of `structured_outputs.grammar`: a grammar in GBNF or Lark.', notEmpty),
  regex: s.field('A regular expression that the whole completion must match (SGLang).', notEmpty),
  ebnf: s.field('A grammar in GBNF or Lark that the completion must match (SGLang).', notEmpty),
  structural_tag: s.field('Refused: structural tags of vLLM and SGLang are not supported.', s.string),
};

export type Kind = keyof s.Static<typeof structuredOutputs>;
