import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ExactFit, Fit } from '../../api-types.js';
import { wordsOf } from '../state/api.js';
import { fetchFit } from '../state/developer.js';
import { bytes, rate, tokens } from '../state/format.js';
import { t } from '../state/language.js';
import { Action } from './button.js';
import { Meter } from './meter.js';

const patienceMs = 250;

interface FitMeterProps {
  model: string;
  /** Context length; not a number: the default. */
  context: unknown;
  /** Sets the context; absent if it cannot be changed. */
  take?: (context: number) => void;
}

/** Memory needs of a model at a context length, updated with a debounce. */
export function FitMeter({ model, context, take }: FitMeterProps) {
  const fit = useSignal<ExactFit | null>(null);
  const problem = useSignal('');
  useEffect(() => {
    if (!model) return;
    const controller = new AbortController();
    const ask = async () => {
      try {
        const asked = await fetchFit(model, context, controller.signal);
        if (controller.signal.aborted) return;
        fit.value = asked;
        problem.value = '';
      } catch (error) {
        if (!controller.signal.aborted) problem.value = wordsOf(error);
      }
    };
    const timer = setTimeout(ask, patienceMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [model, context, fit, problem]);
  if (problem.value) return <p class="help">{problem.value}</p>;
  if (!fit.value) return <p class="help">{t('estimatingMemory')}</p>;
  return <FitSummary fit={fit.value} take={take} />;
}

function FitSummary({ fit, take }: { fit: ExactFit; take: FitMeterProps['take'] }) {
  const whole = Math.max(fit.haveBytes, fit.needBytes, 1);
  const parts = [
    { name: t('weights'), size: fit.weights },
    { name: t('kvCache'), size: fit.kv },
    { name: t('computing'), size: fit.compute },
  ].map(({ name, size }) => ({ name, size, share: size / whole }));
  return (
    <div class="fit">
      <p>
        <FitBadge fit={fit} /> {t('sizeOf', { used: bytes(fit.needBytes), total: bytes(fit.haveBytes) })}
        {fit.contextThatFits > 0 && ` · ${t('contextFits', { context: tokens(fit.contextThatFits) })}`}
        <Speed tokensPerSecond={fit.tokensPerSecond} />
      </p>
      {take && fit.contextThatFits > fit.context && (
        <Action
          label={t('useContext', { context: tokens(fit.contextThatFits) })}
          kind="quiet"
          run={() => take(fit.contextThatFits)}
        />
      )}
      <Meter
        label={t('memoryParts', { parts: parts.map(({ name, size }) => `${name} ${bytes(size)}`).join(', ') })}
        parts={parts}
      />
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

/** An estimate. */
export function Speed({ tokensPerSecond }: { tokensPerSecond: number | null }) {
  if (tokensPerSecond === null) return null;
  return <span title={t('speedIsEstimated')}>{` · ${t('aboutRate', { rate: rate(tokensPerSecond) })}`}</span>;
}

/** The app itself describes the reason for `too-large`. */
const devices = { gpu: 'runsOnGpu', 'partly-gpu': 'runsPartlyOnGpu', cpu: 'runsOnCpu' } as const;
const kinds = { gpu: 'good', 'partly-gpu': 'fair', cpu: '', 'too-large': 'bad' };

export function FitBadge({ fit }: { fit: Fit | null }) {
  if (!fit) return null;
  const words = fit.badge === 'too-large' ? fit.words : t(devices[fit.badge]);
  return <span class={`badge ${kinds[fit.badge]}`}>{words}</span>;
}
