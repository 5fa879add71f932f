import { Fragment } from 'react';
import { Link } from 'react-router';
import { linkParts, type NamedObject } from './link-parts.ts';

interface LinkedTextProps {
  readonly app: string;
  readonly text: string;
  readonly named?: readonly NamedObject[];
}

/** A sentence of the service in which every object that it names is a link. */
export function LinkedText({ app, text, named }: LinkedTextProps) {
  return linkParts(text, app, named).map(({ text: part, to }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
    <Fragment key={index}>{to === undefined ? part : <Link to={to}>{part}</Link>}</Fragment>
  ));
}
