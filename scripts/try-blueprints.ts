/** `npm run try-blueprints`: what becomes of every blueprint of a folder or repository on a gateway. */
import { createSystemClock } from '../src/platform/clock/index.ts';
import { parseArguments, runScript, UsageError, whole } from './support/arguments.ts';
import { createGatewayClient, inParallel, uploadWithWarnings } from './support/gateway-client.ts';
import { createGatewayHome, createTokens, hasBundle, startGateway } from './support/gateway-process.ts';
import { findBlueprints, type FoundBlueprint } from './try-blueprints/find.ts';
import { type Trial, tryBlueprint } from './try-blueprints/trial.ts';

const HELP = `Usage: npm run try-blueprints -- FOLDER|ARCHIVE.zip [options]

Uploads every blueprint (folder with a manifest.yml) below FOLDER, runs those that the built-in module
supports on a device, waits for the first value, and prints a table: accepted, loaded, first value,
first error; below it all problems of manifests, warnings and errors in logs, values that did not come,
scripts that schedule nothing, and commands without a handler. The devices are deleted afterwards.
Without --gateway it starts a temporary gateway.

  --gateway URL   use this gateway; needs --token
  --token TOKEN   access token of an installer or owner
  --seconds N     time for the first value of a script (default 10)
  --at-once N     devices at the same time (default 8)
  --json          print the rows as JSON
  --help          this text

The exit code is 1 if a blueprint was refused or its script failed, 2 for a wrong command line.
`;

interface Target {
  baseUrl: string;
  token: string;
}

interface Plan {
  blueprints: FoundBlueprint[];
  watchMs: number;
  width: number;
}

async function tryAll({ baseUrl, token }: Target, { blueprints, watchMs, width }: Plan): Promise<Trial[]> {
  const clock = createSystemClock();
  const client = createGatewayClient({ baseUrl, tokens: [token], clock });
  let lastUpload: Promise<unknown> = Promise.resolve();
  // A gateway judges few blueprints at once and turns more away.
  const upload = (zip: Uint8Array<ArrayBuffer>): ReturnType<typeof uploadWithWarnings> => {
    const uploaded = lastUpload.then(() => uploadWithWarnings(baseUrl, token, zip));
    // The next upload does not depend on this one; the caller gets its error.
    lastUpload = uploaded.catch(() => undefined);
    return uploaded;
  };
  let done = 0;
  try {
    return await inParallel(blueprints, width, async (found) => {
      const trial = await tryBlueprint(found, { client, upload, clock, watchMs });
      process.stderr.write(`${++done} of ${blueprints.length}: ${found.name}\n`);
      return trial;
    });
  } finally {
    clock.close();
  }
}

/** On a gateway that lives as long as this takes. */
async function onOwnGateway(plan: Plan): Promise<Trial[]> {
  const clock = createSystemClock();
  const home = await createGatewayHome(hasBundle() ? 'bundle' : 'source');
  const gateway = startGateway(home, clock);
  try {
    process.stderr.write('starting a gateway\n');
    await gateway.healthy();
    const [token = ''] = await createTokens(home, 'INSTALLER', 1);
    return await tryAll({ baseUrl: home.baseUrl, token }, plan);
  } finally {
    await gateway.end('SIGTERM');
    home.remove();
    clock.close();
  }
}

/** Columns as wide as what is in them; errors last, because they are long. */
export function tableOf(trials: readonly Trial[]): string {
  const rows = [
    ['blueprint', 'accepted', 'loaded', 'first value', 'first error'],
    ...trials.map(({ name, isAccepted, loaded, firstValue, firstError }) => [
      name,
      isAccepted ? 'yes' : 'no',
      loaded,
      firstValue,
      firstError,
    ]),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** All that the table has no room for, by blueprint. */
export function notesText(trials: readonly Trial[]): string {
  return trials
    .filter(({ notes }) => notes.length > 0)
    .map(
      ({ name, notes }) =>
        `\n${name}\n${notes.map((note) => `  ${note.replaceAll('\n', '\n    ')}\n`).join('')}`,
    )
    .join('');
}

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArguments({
    help: { type: 'boolean' },
    json: { type: 'boolean' },
    gateway: text,
    token: text,
    seconds: text,
    'at-once': text,
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const [path, ...more] = positionals;
  if (path === undefined || more.length > 0) throw new UsageError('name one folder or archive; see --help');
  const plan = {
    watchMs: 1_000 * (whole('seconds', values.seconds, 1, 3_600) ?? 10),
    width: whole('at-once', values['at-once'], 1, 50) ?? 8,
    blueprints: await findBlueprints(path),
  };
  const { gateway: baseUrl, token = '' } = values;
  if (baseUrl !== undefined && token === '') throw new UsageError('--gateway needs --token');
  const trials = baseUrl === undefined ? await onOwnGateway(plan) : await tryAll({ baseUrl, token }, plan);
  process.stdout.write(
    values.json ? `${JSON.stringify(trials, null, 2)}\n` : tableOf(trials) + notesText(trials),
  );
  return trials.every(({ isAccepted, loaded }) => isAccepted && loaded !== 'no') ? 0 : 1;
}

if (import.meta.main) await runScript(main);
