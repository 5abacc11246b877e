import type { ComponentChildren } from 'preact';
import { type MessageKey, t } from '../state/language.js';

interface RichProps {
  message: MessageKey;
  values: Readonly<Record<string, ComponentChildren>>;
}

/** A message with elements, such as links, in its placeholders. */
export function Rich({ message, values }: RichProps) {
  const parts = t(message).split(/\{(\w+)\}/);
  return <>{parts.map((part, index) => (index % 2 ? values[part] : part))}</>;
}
