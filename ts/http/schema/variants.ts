/** Parts of schemas that the protocols share. */
import {
  arrayOf,
  type Fields,
  type JsonSchema,
  limited,
  type ObjectSchema,
  orString,
  type Schema,
  type Static,
  type StaticFields,
  string,
  typed,
} from './json-schema.js';

export const functionName = limited(string, { pattern: '^[a-zA-Z0-9_.-]{1,128}$' });

/**
 * A discriminated union: one field selects the variant, and AJV reports errors within that variant only.
 */
export function variantsBy<Variants extends readonly Schema<object>[]>(
  propertyName: string,
  variants: readonly [...Variants],
): Schema<Static<Variants[number]>> {
  // All are objects that have this field: that is checked once, before a variant is chosen.
  const oneOf = variants.map(({ type: _type, required, ...variant }) => {
    const others = ((required ?? []) as string[]).filter((name) => name !== propertyName);
    return others.length === 0 ? variant : { required: others, ...variant };
  });
  return typed({ type: 'object', required: [propertyName], discriminator: { propertyName }, oneOf });
}

/** A text, or parts discriminated by `type`. */
export function textOrParts<Parts extends readonly Schema<object>[]>(
  parts: readonly [...Parts],
  keywords: JsonSchema = {},
): Schema<string | Static<Parts[number]>[]> {
  return orString(limited(arrayOf(variantsBy<Parts>('type', parts)), keywords));
}

/** A JSON Schema, as in tools and formats. */
export const jsonSchema = typed<object>({ type: 'object' });

/** Variants that have some fields in common. */
export function withFields<T, Required extends Fields, Optional extends Fields>(
  variants: Schema<T>,
  { required = [], properties }: ObjectSchema<Required, Optional>,
): Schema<T & StaticFields<Required, Optional>> {
  return typed({ ...variants, required: [...(variants.required as string[]), ...required], properties });
}
