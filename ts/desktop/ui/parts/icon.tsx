/** Stroke icons on a 24 × 24 grid. Decorative: they accompany a label. */
const paths = {
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M20 20l-4-4',
  downloads: 'M12 4v11m-5-5 5 5 5-5M5 20h14',
  models: 'M12 3 4 7l8 4 8-4zM4 12l8 4 8-4M4 17l8 4 8-4',
  chat: 'M5 5h14a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1h-8l-5 4v-4H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1',
  developer: 'm8 8-4 4 4 4m8-8 4 4-4 4M13.5 5l-3 14',
  settings: 'M4 7h10m4 0h2M4 17h2m4 0h10M16 5a2 2 0 1 0 0 4 2 2 0 0 0 0-4M8 15a2 2 0 1 0 0 4 2 2 0 0 0 0-4',
  copy: 'M9 9h10v11H9zM15 9V5H5v11h4',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  close: 'm6 6 12 12M18 6 6 18',
  play: 'M8 5v14l11-7z',
  stop: 'M7 7h10v10H7z',
  pause: 'M9 6v12m6-12v12',
  plus: 'M12 5v14m-7-7h14',
  trash: 'M5 7h14M10 7V4h4v3m3 0-1 13H8L7 7m3.5 4v5m3-5v5',
  eject: 'M6 14 12 6l6 8zM6 18h12',
  edit: 'M5 19h3L19 8l-3-3L5 16z',
  retry: 'M19 8V4m0 4h-4m3.7 0A7.5 7.5 0 1 0 19.5 13',
  continue: 'm6 6 6 6-6 6m7-12 6 6-6 6',
  send: 'M12 19V5m-6 6 6-6 6 6',
  attach: 'm19 11-7.5 7.5a4.5 4.5 0 0 1-6.4-6.4L13 4.3a3 3 0 0 1 4.3 4.3l-7.8 7.7a1.5 1.5 0 0 1-2.2-2.1L14 7.5',
  file: 'M7 3h7l4 4v14H7zM14 3v4h4',
  compare: 'M4 5h7v14H4zm9 0h7v14h-7z',
  panel: 'M4 5h16v14H4zm10 0v14',
  history: 'M4 6h16M4 12h16M4 18h10',
  back: 'm14 6-6 6 6 6',
  next: 'm10 6 6 6-6 6',
  down: 'm6 10 6 6 6-6',
  export: 'M12 15V4m-5 5 5-5 5 5M5 20h14',
  folder: 'M4 6h6l2 2h8v11H4z',
  link: 'M14 4h6v6m0-6-9 9M18 14v6H4V6h6',
  warning: 'M12 4 3 20h18zm0 6v4m0 3h.01',
  keyboard: 'M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M18 10h.01M8 14h8',
  pin: 'M9 4h6l-1 6 3 3v1H7v-1l3-3zM12 14v6',
  microphone: 'M12 4a2.5 2.5 0 0 0-2.5 2.5v5a2.5 2.5 0 0 0 5 0v-5A2.5 2.5 0 0 0 12 4M6 11a6 6 0 0 0 12 0M12 17v3',
  speaker: 'M5 10v4h3l4 4V6l-4 4zM15.5 9a4 4 0 0 1 0 6m2.5-8.5a8 8 0 0 1 0 11',
  qr: 'M4 4h6v6H4zm10 0h6v6h-6zM4 14h6v6H4zm10 0h2v2h-2zm4 0h2m-2 4v2m2-2v2m-6-2h2v2h-2',
  lock: 'M6 11h12v9H6zm2.5 0V8a3.5 3.5 0 0 1 7 0v3',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, filled = false }: { name: IconName; filled?: boolean }) {
  return (
    <svg class={filled ? 'icon icon-filled' : 'icon'} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
