/** One message of a conversation, as it comes in a request. */
import {
  anything,
  arrayOf,
  exactly,
  field,
  integer,
  limited,
  objectOf,
  oneOf,
  orNull,
  type Static,
  string,
} from '../../../http/schema/json-schema.js';
import { textOrParts, variantsBy } from '../../../http/schema/variants.js';

const textPart = objectOf({ type: exactly('text'), text: string });

/** A refusal of the assistant; the model reads it as text. */
const refusalPart = objectOf({ type: exactly('refusal'), refusal: string });

const imageUrl = objectOf(
  { url: limited(string, { minLength: 1 }) },
  {
    /** OpenAI's; whatever it says, the model sees the image as its encoder takes it. */
    detail: orNull(oneOf('auto', 'low', 'high')),
  },
);

const imagePart = objectOf({ type: exactly('image_url'), image_url: imageUrl });

const filePart = objectOf({
  type: exactly('file'),
  file: objectOf(
    {},
    {
      /** Base64, also as a data URI. */
      file_data: orNull(limited(string, { minLength: 1 })),
      file_id: orNull(string),
      filename: orNull(string),
    },
  ),
});

const calledFunction = objectOf({
  name: limited(string, { minLength: 1 }),
  /** A JSON object, as text. */
  arguments: string,
});

const calledTool = objectOf({
  name: limited(string, { minLength: 1 }),
  /** Free text. */
  input: string,
});

const ofEachCall = {
  id: orNull(string),
  /** Left over in calls that a client assembled from a stream. */
  index: orNull(integer),
};

const functionCall = objectOf({ type: oneOf('function'), function: calledFunction }, ofEachCall);
const customCall = objectOf({ type: exactly('custom'), custom: calledTool }, ofEachCall);

const notEmpty = { minItems: 1 };
const textContent = textOrParts([textPart], notEmpty);
const name = orNull(string);

const instructionMessage = objectOf({ role: oneOf('system', 'developer'), content: textContent }, { name });
const userMessage = objectOf(
  { role: exactly('user'), content: textOrParts([textPart, imagePart, filePart], notEmpty) },
  { name },
);
const assistantMessage = objectOf(
  { role: exactly('assistant') },
  {
    content: orNull(textOrParts([textPart, refusalPart], notEmpty)),
    /** Read in place of a content that is absent. */
    refusal: orNull(string),
    name,
    /** The model's reasoning before this message, as an earlier completion reported it. */
    reasoning_content: orNull(string),
    tool_calls: orNull(arrayOf(variantsBy('type', [functionCall, customCall]))),
    /** The old form of one call. */
    function_call: orNull(calledFunction),
    /** Sources that another server found; they are not for the model. */
    annotations: orNull(arrayOf(anything)),
  },
);
const toolMessage = objectOf(
  { role: exactly('tool'), content: orNull(textContent) },
  { tool_call_id: orNull(string), name },
);
/** The old form of a tool's message, after an assistant's with `function_call`. */
const functionMessage = objectOf({
  role: exactly('function'),
  name: limited(string, { minLength: 1 }),
  content: orNull(textContent),
});

const message = variantsBy('role', [instructionMessage, userMessage, assistantMessage, toolMessage, functionMessage]);

export const messages = field(
  "The conversation so far, texts and images, the oldest message first. If the last message is the assistant's, it is continued.",
  limited(arrayOf(message), { minItems: 1 }),
);

export type TextPart = Static<typeof textPart>;
export type ImagePart = Static<typeof imagePart>;
export type RefusalPart = Static<typeof refusalPart>;
type SentFile = Static<typeof filePart>;
export interface FilePart extends SentFile {
  /** Other protocols have more fields. */
  file: SentFile['file'] & { file_url?: string | null; context?: string | null };
}
/** A content part after translation from another protocol. */
export type ContentPart = TextPart | ImagePart | FilePart;
export type MessagePart = ContentPart | RefusalPart;
export type ToolCall = Static<typeof functionCall>;
export type CustomCall = Static<typeof customCall>;
export type SentMessage = Static<typeof message>;

type SentAssistantMessage = Static<typeof assistantMessage>;

/** A message after its calls of custom tools were replaced with calls of functions. */
export type AssistantMessage = Omit<SentAssistantMessage, 'tool_calls'> & { tool_calls?: ToolCall[] | null };
export type Message = Exclude<SentMessage, SentAssistantMessage> | AssistantMessage;

/** `function_call` is what OpenAI had before `tool_calls`; beside them it says nothing new. */
export function callsOf({ tool_calls: calls, function_call: call }: AssistantMessage): readonly ToolCall[] {
  if (calls && calls.length > 0) return calls;
  return call ? [{ type: 'function', function: call }] : [];
}
