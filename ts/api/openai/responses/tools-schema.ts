/** The fields `tools` and `tool_choice` of `POST /v1/responses`. */
import * as s from '../../../http/schema/json-schema.js';
import { functionName, variantsBy } from '../../../http/schema/variants.js';
import { mcpToolFields } from '../../shared/mcp/mcp-tool-schema.js';
import { customFormat, toolChoiceOf } from '../../shared/tools/tool-schema.js';

const optional = {
  name: functionName,
  description: s.orNull(s.string),
  /** A JSON Schema. */
  parameters: s.orNull(s.anyObject),
  strict: s.orNull(s.boolean),
  format: s.orNull(customFormat),
};

/** Tools with a name. Tools that OpenAI's servers run have other fields. */
const named = {
  if: { properties: { type: { enum: ['function', 'custom', 'namespace'] } } },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's word
  then: { required: ['name'] },
};

const environment = s.objectOf(
  { type: s.string },
  { skills: s.orNull(s.arrayOf(s.objectOf({ name: s.string, description: s.string, path: s.string }))) },
);

const ownTool = s.limited(s.openObjectOf({ type: s.string }, optional), named);

export const responseTool = s.limited(
  s.openObjectOf(
    { type: s.string },
    {
      ...optional,
      /** Of a namespace: its functions and custom tools. */
      tools: s.orNull(s.arrayOf(ownTool)),
      /** For `shell`; default: local. For `computer_use_preview`: a text. */
      environment: s.orNull(s.orString(environment)),
      /** Of `computer_use_preview`, in pixels. */
      display_width: s.orNull(s.integer),
      display_height: s.orNull(s.integer),
      ...mcpToolFields,
    },
  ),
  named,
);

export const responseToolChoice = toolChoiceOf(
  variantsBy('type', [
    s.objectOf({ type: s.exactly('function'), name: functionName }),
    s.objectOf({ type: s.exactly('custom'), name: functionName }),
    s.objectOf({ type: s.exactly('mcp'), server_label: s.string }, { name: s.orNull(s.string) }),
    s.objectOf({ type: s.oneOf('local_shell', 'shell', 'apply_patch', 'computer', 'computer_use_preview') }),
    s.objectOf({
      type: s.exactly('allowed_tools'),
      mode: s.oneOf('auto', 'required'),
      tools: s.limited(s.arrayOf(s.objectOf({ type: s.string }, { name: functionName })), { minItems: 1 }),
    }),
  ]),
);

export type ResponseTool = s.Static<typeof responseTool>;
export type ResponseToolChoice = s.Static<typeof responseToolChoice>;
