import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ExactFit } from '../../api-types.js';
import { fetchFit } from '../state/developer.js';
import { bytes, tokens } from '../state/format.js';
import { FitBadge } from './fit-badge.js';
import { Meter } from './meter.js';

const patienceMs = 250;

interface FitMeterProps {
  model: string;
  /** The context that it is to have; anything but a number is the default. */
  context: unknown;
}

/** The memory that a model takes with a context: asked for anew a moment after that has changed. */
export function FitMeter({ model, context }: FitMeterProps) {
  const fit = useSignal<ExactFit | null>(null);
  useEffect(() => {
    if (!model) return;
    const controller = new AbortController();
    const ask = async () => {
      const asked = await fetchFit(model, context, controller.signal).catch(() => null);
      if (!controller.signal.aborted) fit.value = asked;
    };
    const timer = setTimeout(ask, patienceMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [model, context, fit]);
  return fit.value && <FitSummary fit={fit.value} />;
}

function FitSummary({ fit }: { fit: ExactFit }) {
  const whole = Math.max(fit.haveBytes, fit.needBytes, 1);
  const parts = [
    { name: 'Weights', size: fit.weights },
    { name: 'KV cache', size: fit.kv },
    { name: 'Computing', size: fit.compute },
  ].map(({ name, size }) => ({ name, size, share: size / whole }));
  return (
    <div class="fit">
      <p>
        <FitBadge fit={fit} /> {bytes(fit.needBytes)} of {bytes(fit.haveBytes)}
        {fit.contextThatFits > 0 && ` · a context of up to ${tokens(fit.contextThatFits)} fits`}
      </p>
      <Meter label={`Memory: ${parts.map(({ name, size }) => `${name} ${bytes(size)}`).join(', ')}`} parts={parts} />
      <ul class="legend">
        {parts.map(({ name, size }, index) => (
          <li key={name}>
            <span class={`swatch part-${index}`} />
            {name} {bytes(size)}
          </li>
        ))}
      </ul>
    </div>
  );
}
