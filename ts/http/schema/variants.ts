/** Parts of schemas that the protocols share. */
import * as s from './json-schema.js';

export const functionName = s.limited(s.string, { pattern: '^[a-zA-Z0-9_.-]{1,128}$' });

/**
 * A discriminated union: one field selects the variant, and AJV reports errors within that variant only.
 */
export function variantsBy<Variants extends readonly s.Schema<object>[]>(
  propertyName: string,
  variants: readonly [...Variants],
): s.Schema<s.Static<Variants[number]>> {
  // All are objects that have this field: that is checked once, before a variant is chosen.
  const oneOf = variants.map(({ type: _type, required, ...variant }) => {
    const others = ((required ?? []) as string[]).filter((name) => name !== propertyName);
    return others.length === 0 ? variant : { required: others, ...variant };
  });
  return s.typed({ type: 'object', required: [propertyName], discriminator: { propertyName }, oneOf });
}

/** A text, or parts discriminated by `type`. */
export function textOrParts<Parts extends readonly s.Schema<object>[]>(
  parts: readonly [...Parts],
  keywords: s.JsonSchema = {},
): s.Schema<string | s.Static<Parts[number]>[]> {
  return s.orString(s.limited(s.arrayOf(variantsBy<Parts>('type', parts)), keywords));
}

/** A JSON Schema, as in tools and formats. */
export const jsonSchema = s.typed<object>({ type: 'object' });

/** Variants that have some fields in common. */
export function withFields<T, Required extends s.Fields, Optional extends s.Fields>(
  variants: s.Schema<T>,
  { required = [], properties }: s.ObjectSchema<Required, Optional>,
): s.Schema<T & s.StaticFields<Required, Optional>> {
  return s.typed({ ...variants, required: [...(variants.required as string[]), ...required], properties });
}
