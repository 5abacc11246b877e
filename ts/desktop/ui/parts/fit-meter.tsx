import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { fetchFit } from '../state/developer.js';
import { bytes, tokens } from '../state/format.js';
import type { Fit } from '../state/hub-types.js';
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
  const fit = useSignal<Fit | null>(null);
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

function FitSummary({ fit }: { fit: Fit }) {
  const whole = Math.max(fit.haveBytes, fit.needBytes, 1);
  const parts = [
    { name: 'Weights', size: fit.weights },
    { name: 'KV cache', size: fit.kv },
    { name: 'Computing', size: fit.compute },
  ].flatMap(({ name, size }) => (size ? [{ name, size, share: size / whole }] : []));
  const shown = parts.length > 0 ? parts : [{ name: 'All', size: fit.needBytes, share: fit.needBytes / whole }];
  return (
    <div class="fit">
      <p>
        <FitBadge fit={fit} /> {bytes(fit.needBytes)} of {bytes(fit.haveBytes)}
        {fit.contextThatFits ? ` · a context of ${tokens(fit.contextThatFits)} fits` : ''}
      </p>
      <Meter label={`Memory: ${shown.map(({ name, size }) => `${name} ${bytes(size)}`).join(', ')}`} parts={shown} />
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
