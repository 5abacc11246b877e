/** A form of load options, generated from their table. Placeholders show the defaults. */

import { useId } from 'preact/hooks';
import type { LoadConfig, OptionForm as Row } from '../../api-types.js';
import { anyOf, t } from '../state/language.js';
import { IconAction } from './button.js';

interface OptionFormProps {
  rows: readonly Row[];
  values: LoadConfig;
  set: (name: string, value: unknown) => void;
}

/** Frequently changed options, shown first. */
const usualOptions: readonly string[] = ['contextSize', 'parallel', 'gpuLayers'];

export function OptionForm({ rows, values, set }: OptionFormProps) {
  const usual = rows.filter(({ name }) => usualOptions.includes(name));
  const others = rows.filter(({ name }) => !usualOptions.includes(name));
  const groups = [...new Set(others.map(({ group }) => group))].map((group) => ({
    group,
    members: others.filter((row) => row.group === group),
  }));
  return (
    <div class="options">
      <Fields rows={usual} values={values} set={set} />
      {groups.map(({ group, members }) => (
        <details key={group}>
          <summary>
            {group} <Changed count={members.filter(({ name }) => values[name] !== undefined).length} />
          </summary>
          <Fields rows={members} values={values} set={set} />
        </details>
      ))}
    </div>
  );
}

function Fields({ rows, values, set }: OptionFormProps) {
  return (
    <div>
      {rows.map((row) => (
        <OptionField key={row.name} row={row} value={values[row.name]} set={(value) => set(row.name, value)} />
      ))}
    </div>
  );
}

function Changed({ count }: { count: number }) {
  return count > 0 ? <span class="badge">{t('changedCount', { count })}</span> : null;
}

interface OptionFieldProps {
  row: Row;
  value: unknown;
  set: (value: unknown) => void;
}

function OptionField({ row, value, set }: OptionFieldProps) {
  const id = useId();
  return (
    <div class="option">
      <label for={id}>{labelOf(row.name)}</label>
      <div class="option-input">
        <OptionInput id={id} row={row} value={value} set={set} />
        {value !== undefined && (
          <IconAction label={t('resetOption', { option: labelOf(row.name) })} icon="close" run={() => set(undefined)} />
        )}
      </div>
      <p class="help" id={`${id}-help`}>
        {sentence(row)}
      </p>
    </div>
  );
}

function OptionInput({ id, row, value, set }: OptionFieldProps & { id: string }) {
  const help = `${id}-help`;
  if (row.type === 'boolean') {
    const checked = (value ?? row.default) === true;
    const change = (event: { currentTarget: HTMLInputElement }) => set(event.currentTarget.checked);
    return <input id={id} type="checkbox" checked={checked} aria-describedby={help} onChange={change} />;
  }
  if (isNumber(row) && row.choices) return <NumberOrWord id={id} row={row} value={value} set={set} />;
  if (row.choices && row.choices.length > 0) {
    return (
      <select
        id={id}
        value={String(value ?? '')}
        aria-describedby={help}
        onChange={(event) => set(event.currentTarget.value || undefined)}
      >
        <option value="">{defaultOf(row)}</option>
        {row.choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  }
  if (isNumber(row)) {
    return (
      <input
        id={id}
        type="number"
        value={textOf(value)}
        placeholder={defaultOf(row)}
        min={row.minimum ?? undefined}
        max={row.maximum ?? undefined}
        step={row.type === 'number' ? 'any' : undefined}
        aria-describedby={help}
        onInput={(event) => {
          if (event.currentTarget.validity.valid) set(valueFor(row, event.currentTarget.value));
        }}
      />
    );
  }
  return (
    <input
      id={id}
      type="text"
      value={textOf(value)}
      placeholder={defaultOf(row)}
      aria-describedby={help}
      onInput={(event) => set(valueFor(row, event.currentTarget.value))}
    />
  );
}

/** A number, or one of a few words such as `auto`. */
function NumberOrWord({ id, row, value, set }: OptionFieldProps & { id: string }) {
  const words = row.choices ?? [];
  return (
    <>
      <input
        id={id}
        type="text"
        list={`${id}-words`}
        value={textOf(value)}
        placeholder={defaultOf(row)}
        pattern={['\\d+', ...words].join('|')}
        title={t('numberOrWords', { words: anyOf(words) })}
        aria-describedby={`${id}-help`}
        onInput={(event) => {
          if (event.currentTarget.validity.valid) set(valueFor(row, event.currentTarget.value));
        }}
      />
      <datalist id={`${id}-words`}>
        {words.map((word) => (
          <option key={word} value={word} />
        ))}
      </datalist>
    </>
  );
}

const isNumber = ({ type }: Row) => type === 'integer' || type === 'number';

function valueFor(row: Row, text: string): unknown {
  const { type } = row;
  if (text.trim() === '') return undefined;
  if (isNumber(row)) return row.choices?.includes(text) ? text : Number(text);
  const parts = text.split(',').map((part) => part.trim());
  if (type === 'shares') return parts.map(Number);
  return type === 'paths' || type === 'texts' ? parts : text;
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value ?? '');
}

function defaultOf({ default: value, otherwise }: Row): string {
  return value === undefined || value === null || value === ''
    ? (otherwise ?? t('automatic'))
    : t('defaultValue', { value: textOf(value) });
}

/** `contextSize` → `Context size`; keeps the capitals of MiB and GPU. */
export function labelOf(name: string): string {
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').split(' ');
  const lowered = words.map((word) => (/^(MiB|RAM|GPU)/.test(word) ? word : word.toLowerCase()));
  const text = lowered
    .join(' ')
    .replace(/\bgpu\b/g, 'GPU')
    .replace(/ ms$/, ' (ms)')
    .replace(/ MiB$/, ' (MiB)');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function sentence({ help, unit }: Row): string {
  const text = help.replaceAll(/`([a-zA-Z]+)`/g, (_, name: string) => labelOf(name).toLowerCase());
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${unit ? ` (${unit})` : ''}.`;
}
