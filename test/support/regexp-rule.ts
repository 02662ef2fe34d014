/** No regular expression of the product may take more than linear time, whatever text it meets. */
import { analyse } from 'scslre';
import type { TidyRule } from './tidy-rule.ts';

/** Planted: it took a minute for 3 kB. */
const CUBIC = String.raw`/<(?:[\w-]+:)?href>\s*([^<]*?)\/?\s*<\/(?:[\w-]+:)?href>/gi`;
const INSTEAD =
  'takes more than linear time for some texts: make neighbours disjoint, look behind for the beginning of a run, or read with indexOf';

/** Whether the time grows faster than the text: repetitions that share characters, or a run that is begun anew in its middle. */
function isSlow(expression: string): boolean {
  const end = expression.lastIndexOf('/');
  const { source, flags } = new RegExp(expression.slice(1, end), expression.slice(end + 1));
  return analyse({ source, flags }, { maxReports: 1 }).reports.length > 0;
}

export const REGEXP_RULE: TidyRule = {
  name: 'no regular expression backtracks over text from elsewhere',
  holdsIn: (path) => /^src\/.*\.tsx?$/.test(path),
  *check({ expressions }) {
    for (const { index, value } of expressions)
      if (isSlow(value)) yield { index, message: `${value} ${INSTEAD}` };
  },
  planted: {
    path: 'src/lib/planted.ts',
    text: `const HREF = ${CUBIC};\n`,
    message: `${CUBIC} ${INSTEAD}`,
    right: String.raw`const NAME = /^[\w-]+$/;` + '\n',
  },
};
