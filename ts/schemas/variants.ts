/** Parts of schemas that the protocols share. */

/** The names that functions may have. */
export const functionName = { type: 'string', pattern: '^[a-zA-Z0-9_.-]{1,128}$' };

/**
 * The schema of objects that come in variants, told apart by one field; with a discriminator AJV reports what is wrong
 * within the variant that was meant.
 */
export function variantsBy(propertyName: string, oneOf: readonly object[]): object {
  return { type: 'object', required: [propertyName], discriminator: { propertyName }, oneOf };
}
