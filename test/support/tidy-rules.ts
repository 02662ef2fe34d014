/**
 * Rules of the house that a program can judge, one entry each: where it holds, what it refuses, what to do
 * instead, and an offence planted to prove that it sees. `test/tidy.test.ts` runs both.
 */
import { FUNCTION_RULES } from './function-rules.ts';
import { lineAt, type SourceFile } from './source-files.ts';
import { except, inCode, type TidyRule } from './tidy-rule.ts';
import { REGEXP_RULE } from './regexp-rule.ts';
import { COMMENT_RULE } from './comment-rule.ts';
import { TITLE_RULE } from './title-rule.ts';
import { ZONE_RULE } from './zone-rule.ts';

const FILE_LINES_MAX = 500;

/** Splits words that this file must not contain itself. */
const word = (...parts: string[]): string => parts.join('');

const inSource = (path: string): boolean => path.startsWith('src/') && path.endsWith('.ts');

const ENTRY = /^src\/(main|admin)\.ts$|^src\/(?:field-module|scripting\/rule-sandbox)\/main\.ts$/;
/** The inside of a thread, which ends itself and nobody else. */
const THREAD = /^src\/platform\/threads\/inside\.ts$/;
const CLOCK = /^src\/platform\/clock\//;
const CONSOLE = /^src\/console\//;

/** A rule that refuses a pattern in code, outside comments and texts. */
function banned(
  name: string,
  pattern: RegExp,
  instead: string,
  holdsIn: TidyRule['holdsIn'],
  planted: [text: string, found: string, right: string],
): TidyRule {
  const [text, found, right] = planted;
  return {
    name,
    holdsIn,
    *check(file) {
      for (const match of file.code.matchAll(pattern))
        yield { index: match.index, message: `${match[0].trim()} is refused: ${instead}` };
    },
    planted: { path: 'src/lib/planted.ts', text, message: `${found} is refused: ${instead}`, right },
  };
}

const BANNED_CALLS: TidyRule[] = [
  banned(
    'the wall clock is read in platform/clock only',
    /\bDate\.now\b|\bnew Date\(\s*\)|\bTemporal\.Now\b/g,
    'use clock.wallMs()',
    except(inSource, CLOCK, CONSOLE),
    ['const at = new Date();', 'new Date()', 'const at = new Date(clock.wallMs());'],
  ),
  banned(
    'the monotonic clock is read in platform/clock only',
    /\bperformance\.now\b|\bprocess\.(?:hrtime|uptime)\b/g,
    'use clock.monotonicMs()',
    except(inSource, CLOCK, CONSOLE),
    ['const startedMs = performance.now();', 'performance.now', 'const startedMs = clock.monotonicMs();'],
  ),
  banned(
    'files are removed so that a refusal has its code',
    /\brmSync\b/g,
    'use removeFile or removeTree',
    inSource,
    ['rmSync(path, { force: true });', 'rmSync', 'removeFile(path);'],
  ),
  banned(
    'timers are set in platform/clock only',
    /(?<![.\w])(?:setTimeout|setInterval|setImmediate)\b|\bAbortSignal\.timeout\b/g,
    'use clock.setTimer, clock.setRepeating or clock.sleep',
    except(inSource, CLOCK, CONSOLE),
    ['setTimeout(run, 5);', 'setTimeout', 'clock.setTimer(5, run); socket.setTimeout(5);'],
  ),
  banned(
    'chance is handed in',
    /\bMath\.random\b|\bcrypto\.getRandomValues\b/g,
    'hand randomness in; the default of a create function may be randomBytes of node:crypto',
    except(inSource, CONSOLE),
    ['const jitter = Math.random();', 'Math.random', 'const jitter = options.random();'],
  ),
  banned(
    'the environment is read in platform/config only',
    /\bprocess\.env\b/g,
    'add an option to platform/config and hand the value in',
    // The entry points hand the environment to platform/config.
    except(inSource, /^src\/platform\/config\//, ENTRY),
    ['const home = process.env.HOME;', 'process.env', 'const home = config.dataDir;'],
  ),
  banned('nothing is written to the console', /\bconsole\.\w+/g, 'use the log', except(inSource, CONSOLE), [
    "console.log('x');",
    'console.log',
    "log.info('x');",
  ]),
  banned(
    'standard streams belong to the entry points',
    /\bprocess\.(?:stdout|stderr|stdin)\b/g,
    'use the log, or hand the stream in',
    except(inSource, ENTRY),
    ["process.stdout.write('x');", 'process.stdout', "log.info('x');"],
  ),
  banned(
    'only entry points touch signals and the exit code',
    /\bprocess\.(?:exit|exitCode|abort|on|once|addListener|reallyExit)\b/g,
    'throw, or report to main.ts, which alone ends the process',
    except(inSource, ENTRY, THREAD),
    ['process.exit(1);', 'process.exit', "throw new Error('x');"],
  ),
];

const NUMERIC_NAME =
  /(?<![.\w$])(?:\w+(?:Timeout|Delay|Interval|Duration|Age|Size)|timeout|delay|interval|duration|age|size)\??\s*(?::\s*number\b|=\s*-?\d)/g;

const SQL =
  /\bSELECT\s[\s\S]*?\bFROM\b|\bINSERT\s+(?:OR\s+\w+\s+)?INTO\s|\bUPDATE\s+\w+\s+SET\b|\bDELETE\s+FROM\s|\b(?:CREATE|DROP|ALTER)\s+(?:TABLE|INDEX|TRIGGER|VIEW)\b/;

const WORDS_AND_TEXTS: TidyRule[] = [
  {
    name: 'chance from node:crypto is a default of a create function, not a call',
    holdsIn: except(inSource, CONSOLE),
    *check(file) {
      if (!file.imports.some(({ specifier }) => specifier === 'node:crypto')) return;
      for (const match of file.code.matchAll(
        /(?<![.\w])(?:crypto\.)?(?:randomUUID|randomBytes|randomInt)\s*\(/g,
      ))
        if (!/(?:=|\?\?)\s*\(?\s*\([^()]*\)(?:\s*:\s*\w+)?\s*=>\s*$/.test(file.code.slice(0, match.index)))
          yield {
            index: match.index,
            message: `${match[0]}…) is refused: take the function as an option with this default`,
          };
    },
    planted: {
      path: 'src/capabilities/site/service.ts',
      text: "import { randomUUID } from 'node:crypto';\nconst id = randomUUID();",
      message: 'randomUUID(…) is refused: take the function as an option with this default',
      right:
        "import { randomBytes, randomUUID } from 'node:crypto';\n" +
        'function create(id = randomUUID, salt = () => randomBytes(16)) { return id(); }',
    },
  },
  {
    name: 'a number of time or size has its unit in the name',
    holdsIn: inCode,
    *check(file) {
      for (const match of file.code.matchAll(NUMERIC_NAME)) {
        const name = /^\w+/.exec(match[0])?.[0] ?? '';
        const unit = /size$/i.test(name) ? `${name}Bytes, or count for items` : `${name}Ms`;
        yield { index: match.index, message: `${name} has no unit: call it ${unit}` };
      }
    },
    planted: {
      path: 'src/lib/planted.ts',
      text: 'interface Retry { firstDelay?: number }',
      message: 'firstDelay has no unit: call it firstDelayMs',
      right: 'interface Retry { firstDelayMs?: number; timeout: Timer; usage: number }',
    },
  },
  {
    name: 'SQL stands in store files, rules of rows and platform/sqlite only',
    // The rules of rows, beside the tables, ask other tables too.
    holdsIn: except(inSource, /^src\/platform\/sqlite\//, /(?:^|[/-])store\.ts$/, /\/tables\.ts$/),
    *check(file) {
      for (const { index, value } of file.strings)
        if (SQL.test(value)) yield { index, message: 'SQL is refused here: move the statement to store.ts' };
    },
    planted: {
      path: 'src/capabilities/devices/service.ts',
      text: "db.prepare('DELETE FROM device WHERE id = ?');",
      message: 'SQL is refused here: move the statement to store.ts',
      right: "log.info('select one from the list');",
    },
  },
  {
    name: 'device topics are known to protocol and mqtt.ts only',
    holdsIn: except(inSource, /^src\/protocol\//, /\/mqtt\.ts$/),
    *check(file) {
      for (const { index, value } of file.strings)
        if (/\bv1\/(?:from|to)\//.test(value))
          yield { index, message: 'a device topic is refused here: use a function of protocol/' };
    },
    planted: {
      path: 'src/capabilities/commands/service.ts',
      text: 'broker.publish(`v1/to/${id}/x`);',
      message: 'a device topic is refused here: use a function of protocol/',
      right: 'broker.publish(requestTopic(id));',
    },
  },
  {
    name: 'operations of the API are declared in routes.ts only',
    holdsIn: except(inSource, /^src\/platform\/http\//, /(?:^|[/-])routes\.ts$/),
    *check(file) {
      for (const match of file.code.matchAll(/\bimport\s*\{([^}]*)\}\s*from\b/g))
        if (/(?:^|,)\s*(?:route|stream)\s*(?:,|$)/.test((match[1] ?? '').trimEnd()))
          if (
            file.imports.some(
              ({ index, specifier }) => index === match.index && /platform\/http\//.test(specifier),
            )
          )
            yield { index: match.index, message: 'an operation is refused here: declare it in routes.ts' };
    },
    planted: {
      path: 'src/capabilities/devices/service.ts',
      text: "import { type Call, route } from '../../platform/http/index.ts';",
      message: 'an operation is refused here: declare it in routes.ts',
      right: "import { roleIncludes } from '../../src/lib/role.ts';\nimport { route } from './map.ts';",
    },
  },
  {
    name: 'limits that others use stand in lib/limits.ts',
    holdsIn: except(inSource, /^src\/lib\/limits\.ts$/),
    *check(file) {
      for (const match of file.code.matchAll(
        /\bexport const ([A-Z][A-Z0-9_]*)\s*(?::\s*number\s*)?=\s*[-\d(]/g,
      ))
        yield { index: match.index, message: `${match[1]} is exported: move the number to lib/limits.ts` };
    },
    planted: {
      path: 'src/platform/http/limits.ts',
      text: 'export const BODY_BYTES_MAX = 1_024;',
      message: 'BODY_BYTES_MAX is exported: move the number to lib/limits.ts',
      right: 'const BODY_BYTES_MAX = 1_024; export const ROLES = [1];',
    },
  },
  {
    name: 'every catch does something',
    holdsIn: inCode,
    *check(file) {
      for (const match of file.code.matchAll(/\bcatch\s*(?:\([^)]*\)\s*)?\{\s*\}/g))
        yield { index: match.index, message: 'empty catch: handle, convert with cause, or rethrow' };
    },
    planted: {
      path: 'src/lib/planted.ts',
      text: 'try { run(); } catch (error) { /* never mind */ }',
      message: 'empty catch: handle, convert with cause, or rethrow',
      right: 'try { run(); } catch (error) { report(error); }',
    },
  },
  {
    name: 'a rejection is dropped only with a reason',
    holdsIn: inCode,
    *check(file) {
      for (const match of file.code.matchAll(
        /\.catch\(\s*(?:async\s*)?\([^()]*\)\s*=>\s*(?:\{\s*\}|undefined|void 0)\s*,?\s*\)/g,
      ))
        if (!hasReason(file, match.index))
          yield { index: match.index, message: 'a rejection is dropped: handle it, or say why above' };
    },
    planted: {
      path: 'src/lib/planted.ts',
      text: 'run().catch(() => undefined);',
      message: 'a rejection is dropped: handle it, or say why above',
      right: '// The caller has left.\nrun().catch(() => {});',
    },
  },
];

/** True when a comment stands on the line of `index` or on the one above. */
function hasReason(file: SourceFile, index: number): boolean {
  const line = lineAt(file.text, index);
  return file.comments.some((comment) => {
    const last = lineAt(file.text, comment.index + comment.value.trimEnd().length - 1);
    return last === line || last === line - 1;
  });
}

const MACHINE_PATH = new RegExp(
  `(?<![\\w.~-])/(?:${word('w', 'ork')}|${word('r', 'oot')}|home/[a-z]+|tmp/${word('w', 't')})/|` +
    `https?://[\\w.-]*(?:${word('regis', 'try')}|${word('mir', 'ror')})[\\w.-]*`,
  'g',
);

const FILES: TidyRule[] = [
  {
    name: 'files have one subject',
    holdsIn: inCode,
    *check(file) {
      const lines = file.text.trimEnd().split('\n').length;
      if (lines > FILE_LINES_MAX)
        yield { index: 0, message: `${lines} lines, at most ${FILE_LINES_MAX}: split it by subject` };
    },
    planted: {
      path: 'src/lib/planted.ts',
      text: 'run();\n'.repeat(501),
      message: '501 lines, at most 500: split it by subject',
      right: 'run();\n'.repeat(500),
    },
  },
  ...FUNCTION_RULES,
  REGEXP_RULE,
  TITLE_RULE,
  COMMENT_RULE,
  ZONE_RULE,
  {
    name: 'file and folder names are kebab-case and say what they are',
    // Paths of device profiles are their ids, which are given.
    holdsIn: (path) =>
      /^(?:src|test|scripts)\//.test(path) &&
      !/\/(?:FORMAT|README)\.md$/.test(path) &&
      !path.startsWith('src/capabilities/blueprints/built-in/profiles'),
    *check({ path }) {
      const parts = path.split('/').slice(1);
      for (const part of parts)
        if (!/^\.?[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+)*$/.test(part))
          yield { index: 0, message: `${part} is not kebab-case` };
      const stem = (parts.at(-1) ?? '').replace(/\..*$/, '');
      if (/^(?:utils?|helpers?|common|misc)$/.test(stem))
        yield { index: 0, message: `${stem} says nothing: name the file after the thing it is` };
    },
    planted: {
      path: 'src/lib/ringBuffer.ts',
      text: '',
      message: 'ringBuffer.ts is not kebab-case',
      right: '',
      rightPath: 'src/lib/ring-buffer.ts',
    },
  },
  {
    name: 'no work is left as a marker',
    holdsIn: (path) => path !== 'package-lock.json',
    *check(file) {
      const pattern = new RegExp(
        `\\b(?:${word('TO', 'DO')}|${word('FIX', 'ME')}|${word('X', 'XX')})\\b`,
        'g',
      );
      for (const match of file.text.matchAll(pattern))
        yield { index: match.index, message: `${match[0]} is refused: do it, or open an issue` };
    },
    planted: {
      path: 'docs/planted.md',
      text: `one\n${word('TO', 'DO')}: two`,
      message: `${word('TO', 'DO')} is refused: do it, or open an issue`,
      right: 'todo list',
    },
  },
  {
    name: 'tests are neither skipped nor run alone',
    holdsIn: (path) => path.startsWith('test/') && path.endsWith('.ts'),
    *check(file) {
      for (const match of file.code.matchAll(
        /\b(?:test|it|describe|suite)\.(?:skip|only|todo)\b|\b(?:skip|only|todo)\s*:\s*(?:true\b|['"`])/g,
      ))
        yield {
          index: match.index,
          message: `${match[0]} is refused: mend the test; skip only on a condition of the machine`,
        };
    },
    planted: {
      path: 'test/planted.test.ts',
      text: "test.skip('x', run);",
      message: 'test.skip is refused: mend the test; skip only on a condition of the machine',
      right: "test('x', { skip: !installed && 'not installed' }, run);",
    },
  },
  {
    name: 'no file knows a machine or a package host',
    holdsIn: () => true,
    *check(file) {
      for (const match of file.text.matchAll(MACHINE_PATH))
        yield { index: match.index, message: `${match[0]} belongs to one machine: take it out` };
    },
    planted: {
      path: 'docs/planted.md',
      text: `see ${word('/r', 'oot/')}notes`,
      message: `${word('/r', 'oot/')} belongs to one machine: take it out`,
      right: 'see docs/ and https://www.rfc-editor.org/',
    },
  },
];

export const TIDY_RULES: readonly TidyRule[] = [...BANNED_CALLS, ...WORDS_AND_TEXTS, ...FILES];

/** Every offence as `path:line: message`. */
export function offences(rules: readonly TidyRule[], files: readonly SourceFile[]): string[] {
  const found: string[] = [];
  for (const file of files)
    for (const rule of rules)
      if (rule.holdsIn(file.path))
        for (const { index, message } of rule.check(file))
          found.push(`${file.path}:${lineAt(file.text, index)}: ${message}`);
  return found;
}
