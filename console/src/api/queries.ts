// The console's cache of the service's answers. The key of an answer is the name of its operation and
// what the operation was given. A write makes answers stale by these keys.
import {
  infiniteQueryOptions,
  keepPreviousData,
  QueryClient,
  type QueryKey,
  type QueryObserverOptions,
  queryOptions,
  type UseQueryOptions,
  useInfiniteQuery,
  useQuery,
} from '@tanstack/react-query';
import { type Answer, call, type Given, type OperationName, Problem } from './client.ts';

/** The answers of an operation that was given these parameters, and maybe others. */
export const keyOf = <Name extends OperationName>(name: Name, given: Partial<Given<Name>> = {}): QueryKey => [
  name,
  given,
];

/** The key of an answer that a page puts together from those of several operations. */
export const ownKey = (name: 'find' | 'compose', given: object): QueryKey => [name, given];

/** A list that is short enough to be read at once. */
export const whole = { limit: 200 } as const;
const report = { staleTime: 30_000, placeholderData: keepPreviousData };

/** The operations whose answers are kept in another way than the defaults say. */
const exceptions: readonly (readonly [QueryKey, Partial<QueryObserverOptions>])[] = [
  [keyOf('getSession'), { staleTime: 60_000, retry: false }],
  [keyOf('getLink'), { retry: false }],
  [keyOf('getPause'), { refetchInterval: 30_000 }],
  [keyOf('listApps', whole), { staleTime: 30_000 }],
  [keyOf('listPlans'), { staleTime: 300_000 }],
  [keyOf('listRequests'), { refetchInterval: 2000 }],
  [[...keyOf('listProperties'), 'all'], { staleTime: 60_000 }],
  [keyOf('listEventNames', whole), { staleTime: 60_000 }],
  [keyOf('getOverview'), { staleTime: 60_000 }],
  [keyOf('getPropertyConsequences'), { staleTime: 0 }],
  [keyOf('suggestValues'), { staleTime: 30_000, retry: false }],
  [keyOf('reportRevenue'), report],
  [keyOf('reportEngagement'), report],
  [keyOf('reportDevices'), report],
  [keyOf('reportDeliverability'), report],
];

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5000,
      // Refused requests are not repeated. Only a missing answer is requested again.
      retry: (failures, error) => failures < 2 && error instanceof Problem && [0, 502, 503].includes(error.status),
    },
  },
});
for (const [key, options] of exceptions) queryClient.setQueryDefaults(key, options);

/** One answer. Its request is canceled when nothing on the page needs it any more. */
export const queryOf = <Name extends OperationName>(name: Name, given: Given<Name>) =>
  queryOptions({
    queryKey: keyOf(name, given),
    queryFn: ({ signal }) => call(name, given, { signal }),
  });

type Options<Name extends OperationName, Data> = Omit<
  UseQueryOptions<Answer<Name>, Error, Data>,
  'queryKey' | 'queryFn'
>;

/** One answer on a page, and the state of its request. */
export const useAnswer = <Name extends OperationName, Data = Answer<Name>>(
  name: Name,
  given: Given<Name>,
  options?: Options<Name, Data>,
) => useQuery({ ...(queryOf(name, given) as UseQueryOptions<Answer<Name>, Error, Data>), ...options });

interface Page {
  readonly next_cursor: string | null;
}
interface RowPage extends Page {
  readonly data: readonly unknown[];
}
/** The names of the operations whose answer has this shape. */
type Answering<Shape> = { [Name in OperationName]: Answer<Name> extends Shape ? Name : never }[OperationName];

/** A list that is read page by page. `from` is the cursor that the address of the page named. */
export const pagesOf = <Name extends Answering<Page>>(name: Name, given: Given<Name>, from?: string) =>
  infiniteQueryOptions({
    queryKey: [...keyOf(name, given), 'pages', from ?? null],
    queryFn: ({ pageParam: cursor, signal }) => call(name, { ...given, cursor }, { signal }),
    initialPageParam: from,
    getNextPageParam: ({ next_cursor }: Answer<Name>) => next_cursor ?? undefined,
  });

/** A list on a page, and the state of its requests. */
export const usePages = <Name extends Answering<Page>>(
  name: Name,
  given: Given<Name>,
  from?: string,
  options?: Partial<Pick<ReturnType<typeof pagesOf<Name>>, 'enabled' | 'refetchInterval'>>,
) => useInfiniteQuery({ ...pagesOf(name, given, from), ...options });

/** Whether a key is that of a list's pages. */
export const isOfPages = ({ queryKey }: { readonly queryKey: QueryKey }): boolean => queryKey[2] === 'pages';

/** A bounded list as one page, which may take several requests. */
export const allOf = <Name extends Answering<RowPage>>(name: Name, given: Given<Name>) =>
  queryOptions({
    queryKey: [...keyOf(name, given), 'all'],
    async queryFn({ signal }) {
      const rows: unknown[] = [];
      for (let cursor: string | undefined; ; ) {
        const page: Answer<Name> & RowPage = await call(name, { ...whole, ...given, cursor }, { signal });
        rows.push(...page.data);
        if (page.next_cursor === null) return { ...page, data: rows } as Answer<Name>;
        cursor = page.next_cursor;
      }
    },
  });

/** Makes answers stale, and reads those on the page again. */
export const refresh = <Name extends OperationName>(names: Name | readonly Name[], given: Partial<Given<Name>> = {}) =>
  Promise.all([names].flat().map((name) => queryClient.invalidateQueries({ queryKey: keyOf(name as Name, given) })));

/** Drops answers about an object that is gone. */
export const forget = <Name extends OperationName>(names: readonly Name[], given: Partial<Given<Name>>) => {
  for (const name of names) queryClient.removeQueries({ queryKey: keyOf(name, given) });
};

/** All answers about an app. */
export const ofApp = (app: string) => ({
  predicate: ({ queryKey: [, given] }: { readonly queryKey: QueryKey }) => (given as { app?: string }).app === app,
});
