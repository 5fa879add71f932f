// Types of properties in words.
export const propertyTypeNames = { string: 'Text', number: 'Number', boolean: 'Yes or no' } as const;

export const eventTypeNames: Readonly<Record<string, string>> = {
  ...propertyTypeNames,
  object: 'Object',
  array: 'List',
  null: 'Nothing',
};
