/** Titles of tests are read alone, in a list of failures: they begin with what happens, not in the middle of a sentence. */
import type { TidyRule } from './tidy-rule.ts';

const TITLE =
  /\b(?:test|it|describe|suite)(?:\.\w+)?\(\s*(['"`])((?:that|of|with|in|or|by|as|to|when|and|because|unless|but|beyond|also)\b[^\n]*?)\1/gi;

const INSTEAD = 'begin with the verb or the subject ("keeps the execution when the caller disconnects")';

/** Refuses a title that begins with a word that only continues a sentence. */
export const TITLE_RULE: TidyRule = {
  name: 'test titles do not begin in the middle of a sentence, with a word such as that, when or of',
  holdsIn: (path) => path.startsWith('test/') && path.endsWith('.ts'),
  *check({ text, code }) {
    for (const match of text.matchAll(TITLE))
      // Skips titles inside of texts, as below.
      if (/^[tids]/.test(code.slice(match.index)))
        yield { index: match.index, message: `"${match[2]}" is half a sentence: ${INSTEAD}` };
  },
  planted: {
    path: 'test/planted.test.ts',
    text: "test('that expires is reported', run);",
    message: `"that expires is reported" is half a sentence: ${INSTEAD}`,
    right: "test('is reported when it expires', run);",
  },
};
