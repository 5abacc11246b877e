/** What `input` of `POST /v1/responses` holds: messages, tool calls and their results, reasoning. */
import {
  anyObject,
  anything,
  arrayOf,
  exactly,
  limited,
  objectOf,
  oneOf,
  orNull,
  type Static,
  string,
} from '../../../http/schema/json-schema.js';
import { textOrParts, variantsBy, withFields } from '../../../http/schema/variants.js';

const textPart = <const Type extends string>(type: Type) => objectOf({ type: exactly(type), text: string });
const inputText = textPart('input_text');
const outputText = textPart('output_text');
const refusal = objectOf({ type: exactly('refusal'), refusal: string });
const image = objectOf({ type: exactly('input_image'), image_url: limited(string, { minLength: 1 }) });

const file = objectOf(
  { type: exactly('input_file') },
  {
    /** Base64, also as a data URI. */
    file_data: orNull(limited(string, { minLength: 1 })),
    file_url: orNull(string),
    file_id: orNull(string),
    filename: orNull(string),
  },
);

const shownContent = textOrParts([inputText, image, file]);

const message = withFields(
  variantsBy('role', [
    objectOf({ role: exactly('user'), content: shownContent }),
    objectOf({ role: oneOf('system', 'developer'), content: textOrParts([inputText]) }),
    objectOf({ role: exactly('assistant'), content: textOrParts([outputText, inputText, refusal]) }),
  ]),
  objectOf({ type: exactly('message') }),
);

/** The namespace of the tool that was called, where it is in one. */
const namespace = orNull(string);

const functionCall = objectOf(
  {
    type: exactly('function_call'),
    call_id: string,
    name: string,
    /** JSON text. */
    arguments: string,
  },
  { namespace },
);

const customCall = objectOf(
  { type: exactly('custom_tool_call'), call_id: string, name: string, input: string },
  { namespace },
);

const callOutput = objectOf({
  type: oneOf('function_call_output', 'custom_tool_call_output'),
  call_id: string,
  output: shownContent,
});

/** Calls of OpenAI's own tools that the client runs; `action` or `operation` has their arguments. */
const clientCall = objectOf(
  {
    type: oneOf('local_shell_call', 'shell_call', 'apply_patch_call', 'computer_call'),
    call_id: string,
  },
  { action: orNull(anyObject), operation: orNull(anyObject) },
);

const clientCallOutput = objectOf(
  { type: oneOf('local_shell_call_output', 'shell_call_output', 'apply_patch_call_output', 'computer_call_output') },
  {
    call_id: orNull(string),
    /** Some have the id of the call here. */
    id: orNull(string),
    /** `failed` of an `apply_patch_call_output`. */
    status: orNull(string),
    output: anything,
  },
);

/** Items of tools hosted by OpenAI, and items that only OpenAI can decrypt. */
const hosted = objectOf({
  type: oneOf(
    'web_search_call',
    'file_search_call',
    'image_generation_call',
    'code_interpreter_call',
    'tool_search_call',
    'tool_search_output',
    'mcp_call',
    'mcp_list_tools',
    'mcp_approval_request',
    'mcp_approval_response',
    'compaction_trigger',
    'program',
    'program_output',
    'additional_tools',
  ),
});

/** A summary of earlier items. */
const compaction = objectOf({ type: exactly('compaction'), encrypted_content: string }, { id: orNull(string) });

/** An item of a stored response. */
const reference = objectOf({ type: exactly('item_reference'), id: string });

const reasoning = objectOf(
  { type: exactly('reasoning') },
  { content: orNull(arrayOf(variantsBy('type', [textPart('reasoning_text')]))) },
);

export const inputItem = variantsBy('type', [
  message,
  functionCall,
  customCall,
  callOutput,
  clientCall,
  clientCallOutput,
  reasoning,
  compaction,
  reference,
  hosted,
]);

export type InputPart = Static<typeof inputText | typeof outputText | typeof refusal | typeof image | typeof file>;
export type ClientCall = Static<typeof clientCall>;
export type ClientCallOutput = Static<typeof clientCallOutput>;
export type InputItem = Static<typeof inputItem>;
/** An item of a stored response, with the id that it can be referred to by. */
export type StoredItem = InputItem & { id: string };
