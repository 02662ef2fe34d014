/** How long a function may be. */
import { type FunctionSpan, functionsOf, type SourceFile } from './source-files.ts';
import { except, inCode, type TidyRule } from './tidy-rule.ts';

const FUNCTION_LINES_MAX = 70;

/** Files with a function that is too long yet; the list shrinks, and nothing is added to it. */
const STILL_LONG = [
  /^src\/console\/(?:alerts\/page|history\/chart-canvas|parts\/argument-form|site\/books)\.tsx$/,
  /^src\/capabilities\/notifications\/store\.ts$/,
];

function* longFunctions(
  file: SourceFile,
  linesOf: (span: FunctionSpan) => number,
): Iterable<{ index: number; message: string }> {
  for (const span of functionsOf(file)) {
    const lines = linesOf(span);
    if (lines <= FUNCTION_LINES_MAX) continue;
    const before = file.text.split('\n', span.firstLine - 1).join('\n');
    yield {
      index: before.length + (span.firstLine > 1 ? 1 : 0),
      message: `a function of ${lines} lines, at most ${FUNCTION_LINES_MAX}: split it, or make a class of it`,
    };
  }
}

export const FUNCTION_RULES: readonly TidyRule[] = [
  {
    name: 'functions fit a screen, with everything inside them',
    holdsIn: except((path) => /^src\/.*\.tsx?$/.test(path), ...STILL_LONG),
    check: (file) => longFunctions(file, ({ firstLine, lastLine }) => lastLine - firstLine + 1),
    planted: {
      path: 'src/lib/planted.ts',
      text: `function create(): { b: string } {\n  return {\n    a: (): void => {\n${'run();\n'.repeat(67)}},\n  };\n}`,
      message: 'a function of 73 lines, at most 70: split it, or make a class of it',
      right: `class Planted {\n  a() {\n${'run();\n'.repeat(60)}}\n  b() {\n${'run();\n'.repeat(60)}}\n}`,
    },
  },
  {
    name: 'functions of scripts and of the support of tests fit a screen, without those inside them',
    holdsIn: except(inCode, /^src\//, /\.test\.ts$/),
    check: (file) => longFunctions(file, ({ ownLines }) => ownLines),
    planted: {
      path: 'scripts/planted.ts',
      text: `function long(a: number): { b: string } {\n${'run();\n'.repeat(69)}}`,
      message: 'a function of 71 lines, at most 70: split it, or make a class of it',
      right: `function create() {\n  return {\n    a: (): void => {\n${'run();\n'.repeat(60)}},\n    b() {\n${'run();\n'.repeat(60)}},\n  };\n}`,
    },
  },
];
