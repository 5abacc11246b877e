/** The tools that `POST /v1/responses` offers to the model, and which of them it must use. */
import {
  anyObject,
  arrayOf,
  boolean,
  exactly,
  limited,
  objectOf,
  oneOf,
  orNull,
  type Static,
  string,
} from '../../../http/schema/json-schema.js';
import { functionName, variantsBy } from '../../../http/schema/variants.js';
import { customFormat, toolChoiceOf } from '../../shared/tools/tool-schema.js';

const optional = {
  name: functionName,
  description: orNull(string),
  /** A JSON Schema. */
  parameters: orNull(anyObject),
  strict: orNull(boolean),
  format: orNull(customFormat),
};

/** Tools that have a name; others are run by OpenAI's own servers and have settings of their own. */
const named = {
  if: { properties: { type: { enum: ['function', 'custom', 'namespace'] } } },
  // biome-ignore lint/suspicious/noThenProperty: JSON Schema's word
  then: { required: ['name'] },
};

const environment = objectOf(
  { type: string },
  { skills: orNull(arrayOf(objectOf({ name: string, description: string, path: string }))) },
);

const ownTool = limited(objectOf({ type: string }, optional), named);

export const responseTool = limited(
  objectOf(
    { type: string },
    {
      ...optional,
      /** Of a namespace: its functions and custom tools. */
      tools: orNull(arrayOf(ownTool)),
      /** Of `shell`; default: local. */
      environment: orNull(environment),
    },
  ),
  named,
);

export const responseToolChoice = toolChoiceOf(
  variantsBy('type', [
    objectOf({ type: exactly('function'), name: functionName }),
    objectOf({ type: exactly('custom'), name: functionName }),
    objectOf({ type: oneOf('local_shell', 'shell', 'apply_patch') }),
    objectOf({
      type: exactly('allowed_tools'),
      mode: oneOf('auto', 'required'),
      tools: limited(arrayOf(objectOf({ type: string }, { name: functionName })), { minItems: 1 }),
    }),
  ]),
);

export type ResponseTool = Static<typeof responseTool>;
export type ResponseToolChoice = Static<typeof responseToolChoice>;
