import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { refusals } from '../../src/console/words/de/refusals.ts';
import { listedCodes } from '../support/error-codes.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const PARTS = ['properties', 'telemetry', 'alerts', 'commands', 'command_groups'] as const;

type Manifest = Partial<Record<(typeof PARTS)[number], Record<string, Described>>>;

interface Described {
  display_name: string;
  description?: string;
  troubleshooting?: string[];
  confirmation?: { title: string };
}

/** What the console shows of it; of values that is their name. */
const proseOf = (part: (typeof PARTS)[number], one?: Described): string[] => [
  one?.display_name ?? '',
  ...(part === 'alerts' || part === 'commands' ? [one?.description ?? ''] : []),
  ...(one?.troubleshooting ?? []),
  ...(one?.confirmation ? [one.confirmation.title] : []),
];

/** The words look once for the reader's language, when they are loaded: in a process of their own. */
const LANGUAGE = `
  const own = (value) => ({ value, configurable: true });
  Object.defineProperties(globalThis, {
    document: own({ documentElement: { lang: '' }, addEventListener: () => undefined }),
    localStorage: own({ getItem: () => 'de' }),
  });
  const { language, say } = await import('./words/index.ts');
`;

const SCRIPT = `${LANGUAGE}
  const { ageText, momentText, numberText, showValue } = await import('./format.ts');
  const { energyText, powerText } = await import('./site/energy.ts');
  const { periodText } = await import('./period.ts');
  const { typedNumber } = await import('./typed-number.ts');
  console.log(JSON.stringify([
    language,
    document.documentElement.lang,
    numberText(12345.6),
    numberText(1.5),
    momentText('2026-03-01T08:00:00'),
    ageText(75),
    showValue(true).text,
    energyText(2500),
    powerText(1234).text,
    periodText('2026-03'),
    ['3,5', ' -0.25 ', '2e3', '1.234,5', '3,', ',5', '', '-', 'viel'].map((text) => typedNumber(text) ?? null),
  ]));
`;

test('numbers, dates and ages are written in the language of the reader', async () => {
  const console = join(PROJECT_ROOT, 'src/console');
  const parameters = ['--input-type=module', '--eval', SCRIPT];
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { cwd: console });
  assert.deepEqual(JSON.parse(stdout), [
    'de',
    'de',
    '12.346',
    '1,5',
    '01.03.2026, 08:00:00',
    '1 min',
    'Ja',
    '2,5 kWh',
    '1,2',
    'März 2026',
    [3.5, -0.25, 2000, null, 3, 0.5, null, null, null],
  ]);
});

test('what the gateway refuses is told in the language of the reader, where its code says it all', async () => {
  const answer = [
    { code: 'rule_limit_reached', message: 'The site has 200 rules.', details: { limit: 200 } },
    { code: 'history_degraded', message: 'History takes no data: the disk fails.' },
    { code: 'invalid_body', message: 'name must have at most 100 characters.', details: { field: 'name' } },
  ];
  const script = `${LANGUAGE}
    const { refusalOf, sentencesOf } = await import('./api.ts');
    console.log(JSON.stringify(sentencesOf(refusalOf(422, ${JSON.stringify(JSON.stringify({ errors: answer }))}))));
    // The page's clock would go on.
    process.exit();
  `;
  const cwd = join(PROJECT_ROOT, 'src/console');
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd,
  });
  assert.deepEqual(JSON.parse(stdout), [
    'Mehr als 200 Regeln sind nicht möglich.',
    'Der Verlauf nimmt keine Daten auf. Die Steuerung läuft weiter. (History takes no data: the disk fails.)',
    'name must have at most 100 characters.',
  ]);
});

test('only codes that the gateway answers have a sentence in German', () => {
  const listed = listedCodes(readFileSync(join(PROJECT_ROOT, 'docs/errors.md'), 'utf8'));
  const known = new Set(listed.map(({ code }) => code));
  assert.deepEqual(
    [...refusals.keys()].filter((code) => !known.has(code)),
    [],
  );
});

test('only the manifests of the box and its module are translated', async () => {
  const blueprints = join(PROJECT_ROOT, 'src/capabilities/blueprints/built-in/blueprints');
  const manifests = ['gateway', 'communication-module'].map(
    (name) => parse(readFileSync(join(blueprints, name, 'manifest.yml'), 'utf8')) as Manifest,
  );
  const script = `${LANGUAGE}
    const { asSaid } = await import('./own-manifest.ts');
    const manifests = ${JSON.stringify(manifests)};
    console.log(JSON.stringify({
      said: manifests.map((manifest) => asSaid(manifest, { type: 'GATEWAY' })),
      ofOthers: manifests.map((manifest) => asSaid(manifest, { type: 'LUA' })),
      words: say.ofBox,
    }));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: join(PROJECT_ROOT, 'src/console'),
  });
  const { said, ofOthers, words } = JSON.parse(stdout) as {
    said: Manifest[];
    ofOthers: Manifest[];
    words: Record<(typeof PARTS)[number], object>;
  };
  assert.deepEqual(ofOthers, manifests);
  const left = manifests.flatMap((manifest, index) =>
    PARTS.flatMap((part) =>
      Object.entries(manifest[part] ?? {}).flatMap(([name, own]) => {
        const german = proseOf(part, said[index]?.[part]?.[name]);
        return proseOf(part, own).flatMap((text, place) =>
          text !== '' && german[place] === text ? `${part}.${name}: ${text}` : [],
        );
      }),
    ),
  );
  assert.deepEqual(left, ['telemetry.status: Status', 'telemetry.status: Status']);
  // Words for what neither has would never be read.
  for (const part of PARTS)
    for (const name of Object.keys(words[part]))
      assert.ok(
        manifests.some((manifest) => name in (manifest[part] ?? {})),
        `${part}.${name}`,
      );
});
