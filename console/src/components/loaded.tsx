// The four states of a page that reads one thing: loading, error, and what the caller shows.
import { Skeleton, Stack } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ProblemPanel } from './problem.tsx';

interface LoadedProps<Data> {
  readonly query: UseQueryResult<Data>;
  readonly children: (data: Data) => ReactNode;
  /** Stands where the data will be, in its shape. Without it, the blocks of a page do. */
  readonly skeleton?: ReactNode;
}

export function Loaded<Data>({ query, children, skeleton }: LoadedProps<Data>) {
  // Data on the page stays, even if a later request fails.
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <ProblemPanel error={query.error} onRetry={() => void query.refetch()} />;
  if (skeleton !== undefined) return skeleton;
  return (
    <Stack gap="md" role="status" aria-busy="true" aria-label="Loading">
      <Skeleton height={28} width="40%" />
      <Skeleton height={96} />
      <Skeleton height={180} />
    </Stack>
  );
}
