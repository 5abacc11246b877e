import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { FitMeter } from '../../parts/fit-meter.js';
import { Select } from '../../parts/select.js';
import { tokens } from '../../state/format.js';
import { t } from '../../state/language.js';

const usualContext = 4096;
const longestOffered = 131_072;

/** Exact memory needs of a model. Computed on request only, because the file's header must be downloaded. */
export function MemoryNeeded({ model, longest }: { model: string; longest: number | null }) {
  const open = useSignal(false);
  const context = useSignal(Math.min(usualContext, longest ?? usualContext));
  const id = useId();
  return (
    <details
      class="memory-needed"
      onToggle={(event) => {
        open.value = event.currentTarget.open;
      }}
    >
      <summary>{t('exactMemory')}</summary>
      {open.value && (
        <>
          <div class="row">
            <label for={id}>{t('withContextOf')}</label>
            <Select
              id={id}
              value={context.value}
              options={contextsUpTo(longest ?? longestOffered).map((each) => [
                each,
                t('contextTokens', { context: tokens(each) }),
              ])}
              choose={(size) => {
                context.value = Number(size);
              }}
            />
          </div>
          <FitMeter model={model} context={context.value} />
        </>
      )}
    </details>
  );
}

/** Each twice the one before, and the longest. */
function contextsUpTo(longest: number): readonly number[] {
  const contexts: number[] = [];
  for (let each = 2048; each < Math.min(longest, longestOffered); each *= 2) contexts.push(each);
  return [...contexts, Math.min(longest, longestOffered)];
}
