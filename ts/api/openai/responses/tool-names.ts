/** Names of functions in the chat body. */

/** The name of a tool in a namespace begins with the namespace. */
export function nameInChat({
  name,
  namespace = null,
}: {
  name: string;
  namespace?: string | null | undefined;
}): string {
  if (namespace === null) return name;
  return namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`;
}
