import { encode } from 'uqr';

/** Modules of white around a code, which cameras need (ISO/IEC 18004). */
const quiet = 4;

/**
 * A code with a text for a camera. Black on white in both themes, because some cameras read nothing
 * else.
 */
export function QrCode({ text, label, size }: { text: string; label: string; size: number }) {
  const { data, size: modules } = encode(text, { border: quiet });
  const dark = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg
      role="img"
      aria-label={label}
      width={size}
      height={size}
      viewBox={`0 0 ${modules} ${modules}`}
      shapeRendering="crispEdges"
      style={{ borderRadius: 8, maxWidth: '100%' }}
    >
      <rect width={modules} height={modules} fill="#fff" />
      <path d={dark} fill="#000" />
    </svg>
  );
}
