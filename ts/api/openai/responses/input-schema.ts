/** The items in `input` of `POST /v1/responses`: messages, tool calls and their results, reasoning. */
import * as s from '../../../http/schema/json-schema.js';
import { textOrParts, variantsBy, withFields } from '../../../http/schema/variants.js';
import { audioPart, callArguments } from '../../shared/chat/message-schema.js';
import { mcpInputItems } from './mcp/mcp-schema.js';

/** Fields of earlier replies that clients send back. The model does not see them. */
const sentBack = { id: s.anything, status: s.anything };

const textPart = <const Type extends string>(type: Type) => s.objectOf({ type: s.exactly(type), text: s.string });
const inputText = textPart('input_text');
const outputText = s.objectOf(
  { type: s.exactly('output_text'), text: s.string },
  { annotations: s.anything, logprobs: s.anything },
);
const refusal = s.objectOf({ type: s.exactly('refusal'), refusal: s.string });
const image = s.objectOf(
  { type: s.exactly('input_image') },
  {
    image_url: s.orNull(s.limited(s.string, { minLength: 1 })),
    /** An uploaded file, if there is no URL. */
    file_id: s.orNull(s.string),
    detail: s.anything,
  },
);

const file = s.objectOf(
  { type: s.exactly('input_file') },
  {
    /** Base64, also as a data URI. */
    file_data: s.orNull(s.limited(s.string, { minLength: 1 })),
    file_url: s.orNull(s.string),
    file_id: s.orNull(s.string),
    filename: s.orNull(s.string),
    detail: s.anything,
  },
);

const shownContent = textOrParts([inputText, image, audioPart, file]);

const message = withFields(
  variantsBy('role', [
    s.objectOf({ role: s.exactly('user'), content: shownContent }),
    s.objectOf({ role: s.oneOf('system', 'developer'), content: textOrParts([inputText]) }),
    s.objectOf({ role: s.exactly('assistant'), content: textOrParts([outputText, inputText, refusal]) }),
  ]),
  s.objectOf({ type: s.exactly('message') }, { ...sentBack, phase: s.anything }),
);

/** The namespace of the called tool, if it has one. */
const namespace = s.orNull(s.string);

const functionCall = s.objectOf(
  {
    type: s.exactly('function_call'),
    call_id: s.string,
    name: s.string,
    arguments: callArguments,
  },
  { ...sentBack, namespace, caller: s.anything },
);

const customCall = s.objectOf(
  { type: s.exactly('custom_tool_call'), call_id: s.string, name: s.string, input: s.string },
  { ...sentBack, namespace, caller: s.anything },
);

const callOutput = s.objectOf(
  { type: s.oneOf('function_call_output', 'custom_tool_call_output'), call_id: s.string, output: shownContent },
  { ...sentBack, caller: s.anything },
);

/** Calls of OpenAI's tools that run in the client. Their arguments are in `action`, `actions` or `operation`. */
const clientCall = s.objectOf(
  {
    type: s.oneOf('local_shell_call', 'shell_call', 'apply_patch_call', 'computer_call'),
    call_id: s.string,
  },
  {
    ...sentBack,
    action: s.orNull(s.anyObject),
    actions: s.orNull(s.arrayOf(s.anyObject)),
    operation: s.orNull(s.anyObject),
    environment: s.anything,
    pending_safety_checks: s.anything,
  },
);

const clientCallOutput = s.objectOf(
  { type: s.oneOf('local_shell_call_output', 'shell_call_output', 'apply_patch_call_output', 'computer_call_output') },
  {
    call_id: s.orNull(s.string),
    /** Some clients send the id of the call here. */
    id: s.orNull(s.string),
    /** `failed` of an `apply_patch_call_output`. */
    status: s.orNull(s.string),
    output: s.anything,
    acknowledged_safety_checks: s.anything,
    max_output_length: s.anything,
  },
);

/** Items of tools hosted by OpenAI, and items that only OpenAI can decrypt. They are ignored as a whole. */
const hosted = s.openObjectOf({
  type: s.oneOf(
    'web_search_call',
    'file_search_call',
    'image_generation_call',
    'code_interpreter_call',
    'tool_search_call',
    'tool_search_output',
    'mcp_list_tools',
    'compaction_trigger',
    'program',
    'program_output',
    'additional_tools',
    'configuration_update',
  ),
});

/** A summary of earlier items. */
const compaction = s.objectOf(
  { type: s.exactly('compaction'), encrypted_content: s.string },
  { id: s.orNull(s.string) },
);

/** An item of a stored response. */
const reference = s.objectOf({ type: s.exactly('item_reference'), id: s.string });

const reasoning = s.objectOf(
  { type: s.exactly('reasoning') },
  {
    ...sentBack,
    content: s.orNull(s.arrayOf(variantsBy('type', [textPart('reasoning_text')]))),
    /** Used if there is no content: other servers keep the content to themselves. */
    summary: s.orNull(s.arrayOf(variantsBy('type', [textPart('summary_text')]))),
  },
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
  ...mcpInputItems,
  hosted,
]);

export type InputPart = s.Static<
  typeof inputText | typeof outputText | typeof refusal | typeof image | typeof audioPart | typeof file
>;
export type ClientCall = s.Static<typeof clientCall>;
export type ClientCallOutput = s.Static<typeof clientCallOutput>;
export type InputItem = s.Static<typeof inputItem>;
/** An item of a stored response, with the id for references to it. */
export type StoredItem = InputItem & { id: string };
