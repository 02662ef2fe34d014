/** Comments of the sources begin with the thing that they are about. */
import type { TidyRule } from './tidy-rule.ts';

const COMMENT = /(?:\/\*\*[ \n*]+|(?<!\/\/[^\n]*\n)^[ \t]*\/\/ )((?:Of|Whoever|The same of)\b[^\n]{0,40})/gm;

/** Refuses a comment that begins in the middle of a sentence. */
export const COMMENT_RULE: TidyRule = {
  name: 'comments do not begin with of, whoever or the same of',
  holdsIn: (path) => path.startsWith('src/') && /\.tsx?$/.test(path),
  *check({ text, code }) {
    for (const match of text.matchAll(COMMENT)) {
      // The comment itself is no code; a text that looks like one is.
      if (code.slice(match.index, match.index + match[0].length).trim() === '')
        yield {
          index: match.index,
          message: `"${match[1]}" is half a sentence: begin with the thing itself`,
        };
    }
  },
  planted: {
    path: 'src/planted.ts',
    text: '/** Of the device. */\nexport const nameOf = 1;',
    message: '"Of the device. */" is half a sentence: begin with the thing itself',
    right: '/** Name of the device. */\nexport const nameOf = 1;',
  },
};
