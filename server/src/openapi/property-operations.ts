// Properties as the API's description tells them: the catalog, and what answers about users and devices show of them.
import { z } from 'zod';
import { operatorsOfType } from '../properties/fields.ts';
import { propertyTypes, samplesMax } from '../properties/property.ts';
import { propertyListQuery } from '../properties/routes.ts';
import { component, count, instant, pageEnd } from './components.ts';
import type { Operation } from './operation.ts';

const propertyValue = component('PropertyValue', z.union([z.string(), z.number(), z.boolean()]));
export const propertyValues = component('PropertyValues', z.record(z.string(), propertyValue));
export const propertyConflict = component(
  'PropertyConflict',
  z
    .strictObject({
      key: z.string(),
      expected: z.enum(propertyTypes),
      received: z.enum(propertyTypes),
      value: propertyValue,
      kept: propertyValue.nullable(),
    })
    .describe('A value of another type than its key has in the catalog: neither written nor converted.'),
);

const operators = z.array(component('Operator', z.enum([...new Set(Object.values(operatorsOfType).flat())])));
const property = component(
  'Property',
  z.strictObject({
    key: z.string(),
    field: z.string().describe('Its name in a filter.'),
    type: z.enum(propertyTypes),
    filterable: z.literal(true),
    operators,
    indexed: z.boolean(),
    users_count: count,
    samples: z.array(propertyValue).max(samplesMax),
    conflicts_count: count,
    last_conflict_at: instant.nullable(),
    first_seen_at: instant.nullable(),
    last_seen_at: instant.nullable(),
  }),
);
const builtinField = component(
  'BuiltinField',
  z.strictObject({ field: z.string(), type: z.enum([...propertyTypes, 'datetime']), operators }),
);
const propertyPage = component(
  'PropertyPage',
  z.strictObject({ data: z.array(property), builtins: z.array(builtinField), ...pageEnd }),
);

export const propertyOperations: readonly Operation[] = [
  {
    id: 'listProperties',
    method: 'get',
    path: '/v1/properties',
    tag: 'Properties',
    summary: 'List the catalog of properties by key',
    access: 'server',
    query: propertyListQuery,
    answers: {
      200: {
        description: 'A page of keys; `builtins`, the fields that are always there, is on every page.',
        schema: propertyPage,
        example: {
          data: [
            {
              key: 'plan',
              field: 'properties.plan',
              type: 'string',
              filterable: true,
              operators: operatorsOfType.string,
              indexed: true,
              users_count: 41230,
              samples: ['pro', 'free', 'team'],
              conflicts_count: 3,
              last_conflict_at: '2026-11-20T09:00:00.000Z',
              first_seen_at: '2026-10-01T08:00:00.000Z',
              last_seen_at: '2026-11-21T10:00:00.000Z',
            },
          ],
          builtins: [{ field: 'country', type: 'string', operators: operatorsOfType.string }],
          has_more: false,
          next_cursor: null,
        },
      },
    },
  },
];
