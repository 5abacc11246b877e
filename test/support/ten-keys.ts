/** A JSON schema with ten keys. A grammar determines nearly half of its text. */
const string = { type: 'string', maxLength: 20 };
const properties = {
  name: string,
  city: string,
  country: string,
  street: string,
  number: { type: 'integer' },
  colour: { enum: ['red', 'green', 'blue'] },
  animal: string,
  garden: string,
  river: string,
  married: { type: 'boolean' },
};

export const tenKeys = {
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
};
