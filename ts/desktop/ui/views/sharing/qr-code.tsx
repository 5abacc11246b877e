import { encode } from 'uqr';
import { t } from '../../state/language.js';

/** Light modules around the code, as the standard requires. */
const QUIET = 4;

/** `address` is its name; `text` may contain a secret. */
export function QrCode({ address, text }: { address: string; text: string }) {
  const { data, size } = encode(text, { border: QUIET });
  const path = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : []))).join('');
  return (
    <svg class="qr-code" role="img" aria-label={t('qrCodeOf', { address })} viewBox={`0 0 ${size} ${size}`}>
      <rect class="qr-light" width={size} height={size} />
      <path class="qr-dark" d={path} />
    </svg>
  );
}
