// The values of a reader that a text may name: attributes and properties of the catalog.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { allOf } from '../../api/queries.ts';

export interface Variable {
  readonly name: string;
  readonly samples: readonly (string | number | boolean)[];
}

const attributes: readonly Variable[] = [
  { name: 'first_name', samples: ['Ada', 'Zoë'] },
  { name: 'external_id', samples: ['u-42'] },
  { name: 'country', samples: ['DE'] },
  { name: 'language', samples: ['de', 'pt-BR'] },
  { name: 'timezone', samples: ['Europe/Berlin'] },
];
const shownMax = 8;

export function useVariables(app: string): readonly Variable[] {
  const catalog = useQuery(allOf('listProperties', { app })).data;
  return useMemo(
    () => [
      ...attributes,
      ...(catalog?.data ?? []).map(({ key, samples }) => ({
        name: `properties.${key}`,
        samples: samples?.slice(0, 3) ?? [],
      })),
    ],
    [catalog],
  );
}

/** Variables whose name, or whose key, begins with what was typed after `{{`. */
export function variablesLike(variables: readonly Variable[], typed: string): readonly Variable[] {
  const wanted = typed.toLowerCase();
  const isLike = ({ name }: Variable) => {
    const lower = name.toLowerCase();
    return lower.startsWith(wanted) || lower.replace('properties.', '').startsWith(wanted);
  };
  return variables.filter(isLike).slice(0, shownMax);
}
