import { expect, test } from 'vitest';
import { tellAuthor } from './author.ts';

test.each([
  ['person anna@shop.example', 'anna@shop.example'],
  ['token Deploy', 'the token “Deploy”'],
  ['key Server key', 'the key “Server key”'],
  ['cli root', 'root on the command line'],
  ['first start', 'first start'],
])('the author %s reads as %s', (author, text) => expect(tellAuthor(author)).toBe(text));
