/** Lists of choices. */
import { useId } from 'preact/hooks';

interface SelectProps {
  /** The id of the label element. Without one, `label` is the accessible name. */
  id?: string;
  label?: string;
  helpId?: string | undefined;
  value: string | number | undefined;
  options: readonly (readonly [value: string | number, words: string])[];
  choose: (value: string) => void;
  disabled?: boolean;
}

export function Select({ id, label, helpId, value, options, choose, disabled = false }: SelectProps) {
  return (
    <select
      id={id}
      aria-label={label}
      aria-describedby={helpId}
      value={value}
      disabled={disabled}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {options.map(([each, words]) => (
        <option key={each} value={each}>
          {words}
        </option>
      ))}
    </select>
  );
}

/** A list of choices below its label. */
export function SelectField({ label, ...select }: SelectProps & { label: string }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <Select id={id} {...select} />
    </div>
  );
}
