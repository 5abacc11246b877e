/** Building blocks of the settings: a card, a labelled line, a switch. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export function Part({ title, children }: { title: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <section class="card" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

interface LineProps {
  label: string;
  help?: string;
  /** Renders the control; receives the ids of the control and its help text. */
  children: (id: string, helpId: string | undefined) => ComponentChildren;
}

export function Line({ label, help, children }: LineProps) {
  const id = useId();
  const helpId = help ? `${id}-help` : undefined;
  return (
    <div class="setting">
      <div>
        <label for={id}>{label}</label>
        {help && (
          <p class="help" id={helpId}>
            {help}
          </p>
        )}
      </div>
      <div class="setting-control">{children(id, helpId)}</div>
    </div>
  );
}

interface SwitchProps {
  label: string;
  help?: string;
  on: boolean;
  set: (on: boolean) => void;
}

export function Switch({ label, help, on, set }: SwitchProps) {
  return (
    <Line label={label} {...(help && { help })}>
      {(id, helpId) => (
        <input
          id={id}
          type="checkbox"
          checked={on}
          aria-describedby={helpId}
          onChange={(event) => set(event.currentTarget.checked)}
        />
      )}
    </Line>
  );
}
