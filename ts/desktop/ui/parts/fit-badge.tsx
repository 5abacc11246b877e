import { bytes } from '../state/format.js';
import type { Fit } from '../state/hub-types.js';

const words: Record<Fit['badge'], string> = {
  gpu: 'Runs fully on the GPU',
  'partly-gpu': 'Runs partly on the GPU',
  cpu: 'Runs on the CPU',
  'too-large': 'Too large',
};

export function FitBadge({ fit }: { fit: Fit | null }) {
  if (!fit) return null;
  const kind = { gpu: 'good', 'partly-gpu': 'fair', cpu: '', 'too-large': 'bad' }[fit.badge];
  const sizes = fit.badge === 'too-large' ? ` (needs ${bytes(fit.needBytes)}, you have ${bytes(fit.haveBytes)})` : '';
  return (
    <span class={`badge ${kind}`} title={fit.words}>
      {words[fit.badge]}
      {sizes}
    </span>
  );
}
