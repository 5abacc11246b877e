/** One message of a conversation, as it comes in a request. */
import { arrayOf, exactly, field, limited, objectOf, oneOf, orNull, type Static, string } from './json-schema.js';
import { textOrParts, variantsBy } from './variants.js';

const textPart = objectOf({ type: exactly('text'), text: string });

const imageUrl = objectOf(
  { url: limited(string, { minLength: 1 }) },
  {
    /** OpenAI's; whatever it says, the model sees the image as its encoder takes it. */
    detail: orNull(oneOf('auto', 'low', 'high')),
  },
);

const imagePart = objectOf({ type: exactly('image_url'), image_url: imageUrl });

const toolCall = objectOf(
  {
    type: oneOf('function'),
    function: objectOf({
      name: limited(string, { minLength: 1 }),
      /** A JSON object, as text. */
      arguments: string,
    }),
  },
  { id: orNull(string) },
);

const notEmpty = { minItems: 1 };
const textContent = textOrParts([textPart], notEmpty);
const name = orNull(string);

const instructionMessage = objectOf({ role: oneOf('system', 'developer'), content: textContent }, { name });
const userMessage = objectOf(
  { role: exactly('user'), content: textOrParts([textPart, imagePart], notEmpty) },
  { name },
);
const assistantMessage = objectOf(
  { role: exactly('assistant') },
  {
    content: orNull(textContent),
    name,
    /** The model's reasoning before this message, as an earlier completion reported it. */
    reasoning_content: orNull(string),
    tool_calls: orNull(arrayOf(toolCall)),
  },
);
const toolMessage = objectOf({ role: exactly('tool'), content: textContent }, { tool_call_id: orNull(string) });

const message = variantsBy('role', [instructionMessage, userMessage, assistantMessage, toolMessage]);

export const messages = field(
  "The conversation so far, texts and images, the oldest message first. If the last message is the assistant's, it is continued.",
  limited(arrayOf(message), { minItems: 1 }),
);

export type TextPart = Static<typeof textPart>;
export type ImagePart = Static<typeof imagePart>;
export type ContentPart = TextPart | ImagePart;
export type ToolCall = Static<typeof toolCall>;
export type AssistantMessage = Static<typeof assistantMessage>;
export type Message = Static<typeof message>;
