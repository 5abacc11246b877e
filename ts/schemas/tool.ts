/** The tools that a request offers to the model, and which of them it must use. */

export interface Tool {
  type: 'function';
  function: {
    name: string;
    description?: string | null;
    /** A JSON Schema; without it the function takes no arguments. */
    parameters?: object | null;
    /** Demands that the whole schema is enforced; a part that cannot be enforced is an error then. */
    strict?: boolean | null;
  };
}

export type ToolChoice = 'none' | 'auto' | 'required' | { type: 'function'; function: { name: string } };

export const toolSchema = {
  type: 'object',
  required: ['type', 'function'],
  properties: {
    type: { enum: ['function'] },
    function: {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', pattern: '^[a-zA-Z0-9_.-]{1,128}$' },
        description: { type: ['string', 'null'] },
        parameters: { type: ['object', 'null'] },
        strict: { type: ['boolean', 'null'] },
      },
    },
  },
};

export const toolChoiceSchema = {
  type: ['string', 'object'],
  if: { type: 'string' },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { enum: ['none', 'auto', 'required'] },
  else: {
    required: ['type', 'function'],
    properties: {
      type: { enum: ['function'] },
      function: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    },
  },
};
