/** What `input` of `POST /v1/responses` holds: messages, tool calls and their results, reasoning. */
import { arrayOf, exactly, limited, objectOf, oneOf, orNull, type Static, string } from './json-schema.js';
import { textOrParts, variantsBy, withFields } from './variants.js';

const textPart = <const Type extends string>(type: Type) => objectOf({ type: exactly(type), text: string });
const inputText = textPart('input_text');
const outputText = textPart('output_text');
const refusal = objectOf({ type: exactly('refusal'), refusal: string });
const image = objectOf({ type: exactly('input_image'), image_url: limited(string, { minLength: 1 }) });

const shownContent = textOrParts([inputText, image]);

const message = withFields(
  variantsBy('role', [
    objectOf({ role: exactly('user'), content: shownContent }),
    objectOf({ role: oneOf('system', 'developer'), content: textOrParts([inputText]) }),
    objectOf({ role: exactly('assistant'), content: textOrParts([outputText, inputText, refusal]) }),
  ]),
  objectOf({ type: exactly('message') }),
);

const functionCall = objectOf({
  type: exactly('function_call'),
  call_id: string,
  name: string,
  /** JSON text. */
  arguments: string,
});

const functionCallOutput = objectOf({
  type: exactly('function_call_output'),
  call_id: string,
  output: shownContent,
});

const reasoning = objectOf(
  { type: exactly('reasoning') },
  { content: orNull(arrayOf(variantsBy('type', [textPart('reasoning_text')]))) },
);

export const inputItem = variantsBy('type', [message, functionCall, functionCallOutput, reasoning]);

export type InputPart = Static<typeof inputText | typeof outputText | typeof refusal | typeof image>;
export type InputItem = Static<typeof inputItem>;
