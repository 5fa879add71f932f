// Filters and choices that the page's address has, so that a link shows the same.
import { type NavigateOptions, useSearchParams } from 'react-router';

type Values = Readonly<Record<string, string | null | undefined>>;

/** The same search with other values. An empty value is removed. */
export function withValues(search: URLSearchParams, values: Values): URLSearchParams {
  const next = new URLSearchParams(search);
  for (const [name, value] of Object.entries(values)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  return next;
}

/** The search of the page's address, and a function that changes values of it. */
export function useAddress() {
  const [search, setSearch] = useSearchParams();
  const change = (values: Values, options: NavigateOptions = { replace: true }) =>
    setSearch((before) => withValues(before, values), options);
  return { search, change };
}
