import { useEffect, useRef } from 'preact/hooks';

interface MeterProps {
  label: string;
  /** Share of the whole, 0 to 1. */
  parts: readonly { name: string; share: number }[];
}

/** A segmented bar. */
export function Meter({ label, parts }: MeterProps) {
  return (
    <div class="meter" role="img" aria-label={label}>
      {parts.map(({ name, share }, index) => (
        <MeterPart key={name} share={share} index={index} />
      ))}
    </div>
  );
}

/** Sets the width through CSSOM: the content policy forbids style attributes. */
function MeterPart({ share, index }: { share: number; index: number }) {
  const ref = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (ref.current) ref.current.style.width = `${Math.min(Math.max(share, 0), 1) * 100}%`;
  }, [share]);
  return <span ref={ref} class={`meter-part part-${index % 4}`} />;
}
