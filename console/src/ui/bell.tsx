/** The mark: a bell of three strokes. */
export function Bell({ size = 24 }: { size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="var(--accent)"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      style={{ flex: 'none' }}
    >
      <path d="M6 16V10.5a6 6 0 0 1 12 0V16" />
      <path d="M4 16.5h16" />
      <path d="M10 20a2.2 2.2 0 0 0 4 0" />
    </svg>
  );
}
