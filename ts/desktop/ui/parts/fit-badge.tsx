import type { Fit } from '../../api-types.js';

const kinds = { gpu: 'good', 'partly-gpu': 'fair', cpu: '', 'too-large': 'bad' };

export function FitBadge({ fit }: { fit: Fit | null }) {
  if (!fit) return null;
  return <span class={`badge ${kinds[fit.badge]}`}>{fit.words}</span>;
}
