/** One message of a conversation in a request. */
import * as s from '../../../http/schema/json-schema.js';
import { textOrParts, variantsBy } from '../../../http/schema/variants.js';

const textPart = s.objectOf({ type: s.exactly('text'), text: s.string });

/** A refusal of the assistant, which is text for the model. */
const refusalPart = s.objectOf({ type: s.exactly('refusal'), refusal: s.string });

const imageUrl = s.objectOf(
  { url: s.limited(s.string, { minLength: 1 }) },
  {
    /** A field of OpenAI without effect: the image encoder determines the resolution. */
    detail: s.orNull(s.oneOf('auto', 'low', 'high')),
  },
);

const imagePart = s.objectOf({ type: s.exactly('image_url'), image_url: imageUrl });

/** `data`: base64, also as a data URI, or an http or https URL. The file determines the format. */
export const audioPart = s.objectOf({
  type: s.exactly('input_audio'),
  input_audio: s.objectOf(
    { data: s.limited(s.string, { minLength: 1 }) },
    { format: s.orNull(s.oneOf('wav', 'mp3', 'flac')) },
  ),
});

/** The form of vLLM. */
const audioUrlPart = s.objectOf({
  type: s.exactly('audio_url'),
  audio_url: s.objectOf({ url: s.limited(s.string, { minLength: 1 }) }),
});

const filePart = s.objectOf({
  type: s.exactly('file'),
  file: s.objectOf(
    {},
    {
      /** Base64, also as a data URI. */
      file_data: s.orNull(s.limited(s.string, { minLength: 1 })),
      file_id: s.orNull(s.string),
      filename: s.orNull(s.string),
    },
  ),
});

/** A JSON object, usually as text. */
export const callArguments = s.typed<Record<string, unknown> | string>({ type: ['object', 'string'] });

const calledFunction = s.objectOf({
  name: s.limited(s.string, { minLength: 1 }),
  arguments: callArguments,
});

const calledTool = s.objectOf({
  name: s.limited(s.string, { minLength: 1 }),
  /** Free text. */
  input: s.string,
});

const ofEachCall = {
  id: s.orNull(s.string),
  /** Clients that assemble calls from a stream may leave this field in them. */
  index: s.orNull(s.integer),
};

const functionCall = s.objectOf({ type: s.oneOf('function'), function: calledFunction }, ofEachCall);
const customCall = s.objectOf({ type: s.exactly('custom'), custom: calledTool }, ofEachCall);

const notEmpty = { minItems: 1 };
const textContent = textOrParts([textPart], notEmpty);
/** A result may be empty. */
const resultContent = textOrParts([textPart]);
const name = s.orNull(s.string);

const instructionMessage = s.objectOf({ role: s.oneOf('system', 'developer'), content: textContent }, { name });
const USER_PARTS = [textPart, imagePart, audioPart, audioUrlPart, filePart] as const;
const userMessage = s.objectOf({ role: s.exactly('user'), content: textOrParts(USER_PARTS, notEmpty) }, { name });
const assistantMessage = s.objectOf(
  { role: s.exactly('assistant') },
  {
    content: s.orNull(textOrParts([textPart, refusalPart])),
    /** Used if the content is absent. */
    refusal: s.orNull(s.string),
    name,
    /** The model's reasoning before this message, as an earlier completion reported it. */
    reasoning_content: s.orNull(s.string),
    tool_calls: s.orNull(s.arrayOf(variantsBy('type', [functionCall, customCall]))),
    /** The old form of one call. */
    function_call: s.orNull(calledFunction),
    /** Sources that another server found. The model does not see them. */
    annotations: s.orNull(s.arrayOf(s.anything)),
  },
);
const toolMessage = s.objectOf(
  { role: s.exactly('tool') },
  { content: s.orNull(resultContent), tool_call_id: s.orNull(s.string), name },
);
/** The old form of a tool's message, after an assistant's with `function_call`. */
const functionMessage = s.objectOf(
  { role: s.exactly('function'), name: s.limited(s.string, { minLength: 1 }) },
  { content: s.orNull(resultContent) },
);

const message = variantsBy('role', [instructionMessage, userMessage, assistantMessage, toolMessage, functionMessage]);

export const messages = s.field(
  'The conversation: texts, images and audio, the oldest message first. A last message of the assistant is continued.',
  s.limited(s.arrayOf(message), { minItems: 1 }),
);

export type TextPart = s.Static<typeof textPart>;
type SentImage = s.Static<typeof imagePart>;
export interface ImagePart extends SentImage {
  /** In other protocols, images can be uploaded files. Their `url` is empty. */
  image_url: SentImage['image_url'] & { file_id?: string };
}
export type AudioPart = s.Static<typeof audioPart> | s.Static<typeof audioUrlPart>;
export type RefusalPart = s.Static<typeof refusalPart>;
type SentFile = s.Static<typeof filePart>;
export interface FilePart extends SentFile {
  /** Other protocols have more fields. */
  file: SentFile['file'] & { file_url?: string | null; context?: string | null };
}
/** A content part after translation from another protocol. */
export type ContentPart = TextPart | ImagePart | AudioPart | FilePart;
export type MessagePart = ContentPart | RefusalPart;
export type ToolCall = s.Static<typeof functionCall>;
export type CustomCall = s.Static<typeof customCall>;
export type SentMessage = s.Static<typeof message>;

type SentAssistantMessage = s.Static<typeof assistantMessage>;

/** A message with function calls in place of custom calls. */
export type AssistantMessage = Omit<SentAssistantMessage, 'tool_calls'> & { tool_calls?: ToolCall[] | null };
export type Message = Exclude<SentMessage, SentAssistantMessage> | AssistantMessage;

/** `function_call` is the predecessor of `tool_calls`, and redundant beside them. */
export function callsOf({ tool_calls: calls, function_call: call }: AssistantMessage): readonly ToolCall[] {
  if (calls && calls.length > 0) return calls;
  return call ? [{ type: 'function', function: call }] : [];
}
