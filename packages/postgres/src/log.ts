/** Takes what the package says to an operator, in the form of pino: facts, then a sentence. */
export interface Log {
  debug(facts: object, sentence: string): void;
  warn(sentence: string): void;
  error(facts: object, sentence: string): void;
}
