/** JSON schemas of the parameters of tools that clients run. */

export const text = (description: string) => ({ type: 'string', description });
export const oneOf = (description: string, ...names: string[]) => ({ type: 'string', enum: names, description });
export const whole = (description: string) => ({ type: 'integer', description });
export const numbers = (count: number, description: string) => ({
  type: 'array',
  items: { type: 'integer' },
  minItems: count,
  maxItems: count,
  description,
});

export function parametersOf(properties: object, ...required: string[]): object {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** Each group of commands requires the same fields. `name` is the field with the command. */
export function parametersBy(
  name: string,
  properties: object,
  groups: readonly [commands: string[], fields: string[]][],
): object {
  const commands = groups.flatMap(([each]) => each);
  const anyOf = groups.map(([each, fields]) => ({ properties: { [name]: { enum: each } }, required: fields }));
  return { ...parametersOf({ [name]: oneOf('What to do.', ...commands), ...properties }, name), anyOf };
}
