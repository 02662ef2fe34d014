import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { operations } from '../../src/console/words/de/operations.ts';
import { BY_SENTENCE, refusals } from '../../src/console/words/de/refusals.ts';
import { inGerman, logInGerman } from '../../src/console/words/de/translate.ts';
import { sentences } from '../../src/console/words/de/sentences.ts';
import { ofLogs } from '../../src/console/words/de/sentences-of-logs.ts';
import { listedCodes } from '../support/error-codes.ts';
import { gatewaySentences } from '../support/gateway-sentences.ts';
import { startTestGateway } from '../support/test-gateway.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const PARTS = ['properties', 'telemetry', 'alerts', 'commands', 'command_groups'] as const;

type Manifest = Partial<Record<(typeof PARTS)[number], Record<string, Described>>>;

interface Described {
  display_name: string;
  description?: string;
  troubleshooting?: string[];
  confirmation?: { title: string };
}

/** Formats, names of the interface, the service log, what authors of scripts read, and what is told by a code. */
const NOT_FOR_PEOPLE =
  /SQLite format 3|text\/plain|ok=1|package 1\n|form [A-Z_]+$|Responses waiting|: reset all|a backup is to be taken over|the rehearsal has ended|When the last backup was made|starting or stopping|nothing more is stored but the state|Another scan of this line|The device has no configuration group|A package is being uploaded|Another backup is being made|The body (?:is compressed|has the charset)|true or false|a UUID|an RFC 3339 timestamp|a finite number|did you mean|A module with the same connection|End one of the two|The module has fallen silent|One JSON object in each line|^src.*\{"type":"unit"|^src\/capabilities\/outputs\/|the command failed$/;

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

test('a refusal is shown in the language of the reader, by its code or its sentence', async () => {
  const answer = [
    { code: 'rule_limit_reached', message: 'The site has 200 rules.', details: { limit: 200 } },
    { code: 'history_degraded', message: 'History takes no data: the disk fails.' },
    {
      code: 'unavailable',
      message: 'The disk is full, so this cannot be stored now. Make room on it.',
    },
    { code: 'unavailable', message: 'the gateway is out' },
    {
      code: 'invalid_body',
      message: 'Field "name" must have at most 100 characters.',
      details: { field: 'name' },
    },
    { code: 'configuration_refused', message: 'the script says no', details: {} },
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
    'Der Verlauf nimmt keine Daten auf. Die Steuerung läuft weiter. (the disk fails.)',
    'Der Datenträger ist voll, deshalb kann nichts gespeichert werden. Schaffen Sie Platz.',
    'Das Gateway kann dies gerade nicht ausführen. (the gateway is out)',
    'Feld „name“ darf höchstens 100 Zeichen haben.',
    'the script says no',
  ]);
});

test('exactly the codes that the gateway answers have a sentence in German, or tell by their own', () => {
  const listed = listedCodes(readFileSync(join(PROJECT_ROOT, 'docs/errors.md'), 'utf8'));
  assert.deepEqual(
    [...refusals.keys(), ...BY_SENTENCE].sort(),
    [...new Set(listed.map(({ code }) => code))].sort(),
  );
});

test('exactly what may be done has a name in German in the activity', async (t) => {
  const gateway = await startTestGateway(t);
  const { paths } = (await gateway.ok('OWNER', 'GET', '/v3/openapi.json?aliases=true')) as {
    paths: Record<string, Record<string, { operationId?: string }>>;
  };
  const changing = Object.values(paths)
    .flatMap((path) => Object.entries(path).filter(([method]) => method !== 'get'))
    // Another path of the same operation is named by it.
    .map(([, { operationId = '' }]) => operationId.replace(/_at_.*$/, ''));
  const local = Object.keys(operations).filter((name) => /^(?:admin|mqtt)_|^refusals_omitted$/.test(name));
  assert.deepEqual(Object.keys(operations).sort(), [...new Set([...changing, ...local])].sort());
});

const HOLE = /\{\d\}|<\d>/g;

test('every sentence that the gateway says to people is known in German', () => {
  const known = Object.keys({ ...sentences, ...ofLogs }).map((text) => text.replaceAll(HOLE, '◌'));
  const all = known.join('\n');
  const missing = [...gatewaySentences(PROJECT_ROOT)].filter(([text]) =>
    // Parts may be put together; letters of each stand in a whole one.
    text.split('◌').some((part) => /\p{L}/u.test(part) && !all.includes(part)),
  );
  assert.deepEqual(
    missing.map(([text, place]) => `${place}: ${text.trim()}`).filter((line) => !NOT_FOR_PEOPLE.test(line)),
    [],
  );
});

test('a German sentence takes over all arguments', () => {
  for (const [english, german] of Object.entries({ ...sentences, ...ofLogs })) {
    const holes = english.match(HOLE) ?? [];
    assert.deepEqual((german.match(HOLE) ?? []).sort(), holes.toSorted(), english);
    holes.forEach((hole, index) => assert.equal(hole[1], String(index + 1), english));
  }
});

const SAID: [title: string, text: string, german: string][] = [
  [
    'of an update that was taken back, with why',
    'Version 1.5.0 failed; 1.4.0 runs again with its state from before the upgrade. What the failed version stored lies in /var/lib/energy-gateway/failed-upgrade. Why: It refused to run: state.db is newer',
    'Version 1.5.0 ist gescheitert; 1.4.0 läuft wieder mit den Daten von vor dem Update. Was die gescheiterte Version gespeichert hat, liegt in /var/lib/energy-gateway/failed-upgrade. Grund: Sie verweigerte den Start: state.db is newer',
  ],
  [
    'of a server',
    'influx:8086 did not answer within 20 s.',
    'influx:8086 hat nicht innerhalb von 20 s geantwortet.',
  ],
  [
    'with what the server answered, as it is',
    'influx:8086 has a failure of its own: HTTP 500, "The disk is full."',
    'influx:8086 ist selbst gestört: HTTP 500, "The disk is full."',
  ],
  [
    'of several targets, after their names',
    'Fleet box: Nothing listens at a:1. Home: b:2 does not accept the token or the login: HTTP 401, "who: you?"',
    'Fleet box: Unter a:1 antwortet kein Dienst. Home: b:2 nimmt Token oder Anmeldung nicht an: HTTP 401, "who: you?"',
  ],
  [
    'of the disk, with what the system said',
    'The disk fails now, so this cannot be stored or read. Check it. (disk I/O error)',
    'Der Datenträger ist gestört, deshalb kann nichts gespeichert oder gelesen werden. Prüfen Sie ihn. (disk I/O error)',
  ],
  [
    'of a kind of value',
    'Argument "p" must be integer, got string.',
    'Angabe „p“ muss eine ganze Zahl sein, nicht Text.',
  ],
  ['of a mail server, without a status', 'a:25 refused the mail.', 'a:25 hat die E-Mail abgelehnt.'],
  [
    'that is not of the gateway stays as it is',
    'Cell 7: the balancer is stuck.',
    'Cell 7: the balancer is stuck.',
  ],
];
for (const [title, text, german] of SAID)
  test(`a German sentence ${title}`, () => {
    assert.equal(inGerman(text), german);
  });

test('a text that is longer than any sentence of the gateway stays as it is, at once', () => {
  const long = 'Field "' + '": attribute "" '.repeat(100_000);
  assert.equal(inGerman(long), long);
  assert.equal(logInGerman(long), long);
});

test('an entry of a log, and the end of a command, is in German where the gateway wrote it, and as it is where a device did', () => {
  assert.deepEqual(
    [
      'rule restarts in 5 s',
      'Telemetry "soc": The value must be integer, got string. Further faults are not listed for a while.',
      'The device did not answer within 30 s.',
      'The device did not answer within 30 s, says the inverter.',
      'installed',
      'The disk is full, so this cannot be stored now. Make room on it.',
    ].map(logInGerman),
    [
      'Regel startet in 5 s neu',
      'Messwert „soc“: Der Wert muss eine ganze Zahl sein, nicht Text. Weitere Fehler stehen eine Weile nicht hier.',
      'Das Gerät hat nicht innerhalb von 30 s geantwortet.',
      'The device did not answer within 30 s, says the inverter.',
      'installed',
      'The disk is full, so this cannot be stored now. Make room on it.',
    ],
  );
});

test('the manifests of the box and its module are translated whole', async () => {
  const blueprints = join(PROJECT_ROOT, 'src/capabilities/blueprints/built-in/blueprints');
  const manifests = ['gateway', 'communication-module'].map(
    (name) => parse(readFileSync(join(blueprints, name, 'manifest.yml'), 'utf8')) as Manifest,
  );
  const script = `${LANGUAGE}
    const { translatedManifest } = await import('./translated-manifest.ts');
    const manifests = ${JSON.stringify(manifests)};
    console.log(JSON.stringify({
      said: manifests.map((manifest) => translatedManifest(manifest, { type: 'GATEWAY' })),
      words: say.ofBox,
    }));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: join(PROJECT_ROOT, 'src/console'),
  });
  const { said, words } = JSON.parse(stdout) as {
    said: Manifest[];
    words: Record<(typeof PARTS)[number], object>;
  };
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
