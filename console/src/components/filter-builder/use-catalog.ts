// The fields and events of an app, for every builder on a page.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { allOf, useAnswer, whole } from '../../api/queries.ts';
import type { Catalog } from './builder-context.ts';
import { propertyOf } from './fields.ts';

export function useCatalog(app: string): Catalog & { readonly error: unknown; readonly isReady: boolean } {
  const catalog = useQuery(allOf('listProperties', { app }));
  const events = useAnswer('listEventNames', { app, ...whole });
  const fields = useMemo(() => {
    if (!catalog.data) return [];
    const properties = catalog.data.data.map(({ key, type, operators }) => ({
      field: propertyOf(key),
      type,
      operators,
    }));
    return [...catalog.data.builtins, ...properties];
  }, [catalog.data]);
  const byName = useMemo(() => new Map(fields.map((each) => [each.field, each])), [fields]);
  return {
    fields,
    fieldOf: (name) => byName.get(name),
    events: events.data?.data ?? [],
    error: catalog.error,
    isReady: catalog.data !== undefined,
  };
}
