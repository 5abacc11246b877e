/** Event handlers that change a signal. */
import type { Signal } from '@preact/signals';

export function setTo<Value>(signal: Signal<Value>, value: NoInfer<Value>): () => void {
  return () => {
    signal.value = value;
  };
}

/** Sets the signal to the text of the field. */
export function setToText(signal: Signal<string>): (event: { currentTarget: { value: string } }) => void {
  return ({ currentTarget }) => {
    signal.value = currentTarget.value;
  };
}
