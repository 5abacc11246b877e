import { useId } from 'preact/hooks';
import type { ListedModel } from '../../api-types.js';
import { bytes } from '../state/format.js';

interface ModelPickerProps {
  label: string;
  models: readonly ListedModel[];
  value: string;
  choose: (key: string) => void;
  disabled?: boolean;
  /** Hides the label visually. */
  plain?: boolean;
}

export function ModelPicker({ label, models, value, choose, disabled = false, plain = false }: ModelPickerProps) {
  const id = useId();
  const known = models.some(({ key }) => key === value);
  return (
    <div class="field">
      <label for={id} class={plain ? 'unseen' : ''}>
        {label}
      </label>
      <select id={id} value={value} disabled={disabled} onChange={(event) => choose(event.currentTarget.value)}>
        {!known && <option value={value}>{value || 'Choose a model'}</option>}
        {models.map(({ key, size_bytes }) => (
          <option key={key} value={key}>
            {key} · {bytes(size_bytes)}
          </option>
        ))}
      </select>
    </div>
  );
}
