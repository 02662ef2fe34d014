/** `npm run try-template`: the values that a device template gives, with the registers that they come from. */
import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { createSystemClock } from '../src/platform/clock/index.ts';
import { type DeviceImage, parseImages } from './simulate/device-image.ts';
import { startImageDevice } from './simulate/image-device.ts';
import { parseArguments, runScript, UsageError, whole } from './support/arguments.ts';
import { createGatewayClient, uploadWithWarnings } from './support/gateway-client.ts';
import { createTokens, withGateway } from './support/gateway-process.ts';
import {
  commandTable,
  type CommandTarget,
  parseCommand,
  type RanCommand,
  runCommands,
} from './try-template/commands.ts';
import { FaultyTemplate, type LoadedTemplate, loadTemplate, textOf } from './try-template/load.ts';
import { recordModbus } from './try-template/recorder.ts';
import { RegisterMemory } from './try-template/register-memory.ts';
import { rounded, type Row, rowsOf, tableOf } from './try-template/table.ts';
import { declaredUnits, tryTemplate, type TrialOptions } from './try-template/trial.ts';

const HELP = `Usage: npm run try-template -- FILE [--against ADDRESS | --image FILE] [options]

Reads a device template and prints its mistakes with their lines. With a device or an image of one it
runs the template on a temporary gateway and prints a table: each value, its unit, where it comes from,
and the registers as they were on the wire. A device is only read; commands run against images.

  --against ADDRESS  a device: tcp://192.168.1.20:502; for HTTP its name or address
  --image FILE       images of a device as below test/library/images/; values that differ from what an
                     image expects are named, and its commands are run
  --run COMMAND      a command to run against each image, with its arguments: --run 'set_power power=500';
                     what it writes is printed; may be repeated
  --record FILE      write what the device answered as an image, for a bug report or a test
                     (with --against tcp://…); the serial number of the device is in it
  --set NAME=VALUE   a parameter of the template, or a setting of its connection such as unit_id=3;
                     may be repeated
  --seconds N        time for all values to come (default 15)
  --help             this text

The exit code is 1 if the template has mistakes, no value came, or one differs from what an image
expects, or a command fails or writes something else; 2 for a wrong command line.
`;

interface Asked {
  file: string;
  given: Readonly<Record<string, string>>;
  against: string | undefined;
  image: string | undefined;
  record: string | undefined;
  /** Commands with their arguments. */
  run: readonly string[];
  watchMs: number;
}

type Gateway = Omit<TrialOptions, 'absent' | 'andThen'>;

/** One table, and whether it is as it should be. */
interface Outcome {
  title: string;
  rows: readonly Row[];
  /** Values of every attribute; null for one without a value. */
  values: Record<string, unknown>;
  notes: readonly string[];
  commands: readonly RanCommand[];
  image?: DeviceImage;
}

/** What plays a device, beside its template. */
interface Played {
  image: DeviceImage;
  target: CommandTarget;
  /** Commands of the command line. */
  run: readonly string[];
}

const TCP = /^tcp:\/\/(?<host>[^/:]+|\[[^\]]+\])(?::(?<port>\d+))?(?:[/?].*)?$/i;

async function againstDevice(asked: Asked, address: string, gateway: Gateway): Promise<Outcome> {
  const loaded = loadTemplate(asked.file, { ...asked.given, address });
  const memory = new RegisterMemory();
  const { host = '', port = '502' } = TCP.exec(address)?.groups ?? {};
  if (host === '' || !loaded.template.modbus) return run(address, loaded, memory, gateway);
  const recorder = await recordModbus({ host: host.replaceAll(/[[\]]/g, ''), port: Number(port) }, memory);
  try {
    const settings = { ...loaded.settings, address: `tcp://127.0.0.1:${recorder.port}` };
    const outcome = await run(address, { ...loaded, settings }, memory, gateway);
    return { ...outcome, image: recorded(outcome, memory, loaded) };
  } finally {
    await recorder.close();
  }
}

async function againstImage(asked: Asked, image: DeviceImage, gateway: Gateway): Promise<Outcome> {
  const chosen = { ...image.parameters, ...image.settings, ...asked.given };
  const loaded = loadTemplate(asked.file, chosen);
  const order = loaded.template.modbus?.word_order ?? '';
  const isLowFirst = (loaded.compiled.parameters[order.slice(1)] ?? order) === 'low_first';
  const device = await startImageDevice(image, isLowFirst);
  const memory = new RegisterMemory();
  const place = { host: '127.0.0.1', port: device.port };
  const recorder = loaded.template.modbus ? await recordModbus(place, memory) : undefined;
  try {
    const address = recorder ? `tcp://127.0.0.1:${recorder.port}` : device.address;
    const settings = { ...loaded.settings, address };
    const compiled = { ...loaded.compiled, files: onLoopback(loaded.compiled.files, device.port) };
    const target = { device, writes: recorder?.writes ?? [] };
    return await run(image.name, { ...loaded, compiled, settings }, memory, gateway, {
      image,
      target,
      run: asked.run,
    });
  } finally {
    await recorder?.close();
    await device.close();
  }
}

/** Services on the internet and devices behind TLS are played by a plain server; many may run on one machine. */
const onLoopback = (files: Readonly<Record<string, string>>, port: number): Record<string, string> => ({
  ...files,
  'lua/main.lua': (files['lua/main.lua'] ?? '')
    .replace(/url = '[^']+'/, `url = 'http://127.0.0.1:${port}'`)
    .replace("scheme = 'https'", "scheme = 'http'")
    .replace(/own_port = \d+/, 'own_port = nil'),
});

async function run(
  title: string,
  loaded: LoadedTemplate,
  memory: RegisterMemory,
  gateway: Gateway,
  played?: Played,
): Promise<Outcome> {
  const { template, books, settings, compiled } = loaded;
  const expect = played?.image.expect;
  const units = declaredUnits(compiled.manifest);
  // Where an image tells all values, the others have none.
  const absent = new Set(expect ? [...units.keys()].filter((name) => (expect[name] ?? null) === null) : []);
  const asked = played?.run.map((text) => parseCommand(text, compiled.manifest)) ?? [];
  const commands: RanCommand[] = [];
  const andThen = async (device: string): Promise<void> => {
    if (!played) return;
    const wanted = [...(played.image.commands ?? []), ...asked];
    commands.push(...(await runCommands(wanted, device, gateway.client, played.target)));
  };
  const { values: all, notes } = await tryTemplate(loaded, { ...gateway, absent, andThen });
  // A value that does not come is one of an image, too.
  const values = Object.fromEntries([...units.keys()].map((name) => [name, rounded(all[name]) ?? null]));
  const rows = rowsOf({ template, books, units, values, memory, settings, expect });
  return { title, notes, values, rows, commands };
}

function recorded({ values }: Outcome, memory: RegisterMemory, loaded: LoadedTemplate): DeviceImage {
  const { address: _address, ...settings } = loaded.settings;
  const { parameters } = loaded.compiled;
  return {
    name: `recorded with ${loaded.template.name}`,
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...(Object.keys(settings).length > 0 && { settings }),
    units: memory.toImage(),
    expect: values,
  };
}

function imagesOf(file: string): DeviceImage[] {
  return parseImages(file, textOf(file));
}

/** Whether all is well. */
function print({ title, rows, notes, commands }: Outcome): boolean {
  const wrong = rows.filter(({ expected }) => expected !== '');
  process.stdout.write(`${title}\n\n${tableOf(rows)}`);
  for (const note of notes) process.stdout.write(`${note}\n`);
  const isEmpty = rows.every(({ value }) => value === '');
  if (isEmpty) process.stdout.write('No value came.\n');
  if (wrong.length > 0) process.stdout.write(`${wrong.length} differ from what the image expects.\n`);
  if (commands.length > 0) process.stdout.write(`\n${commandTable(commands)}`);
  const mistakes = commands.flatMap(({ command, mistakes: all }) => all.map((one) => `${command}: ${one}\n`));
  process.stdout.write(`${mistakes.join('')}\n`);
  return !isEmpty && wrong.length === 0 && mistakes.length === 0;
}

async function tryAll(asked: Asked): Promise<number> {
  const { against, image, record, watchMs } = asked;
  // What is wrong with files is said before a gateway is started.
  const { template, compiled } = loadTemplate(
    asked.file,
    image === undefined ? { ...asked.given, ...addressOf(against) } : {},
  );
  for (const command of asked.run) parseCommand(command, compiled.manifest);
  const images = image === undefined ? [] : imagesOf(image);
  if (against === undefined && image === undefined) {
    const count = Object.keys(template.values).length;
    process.stdout.write(`${template.name}: ${count} values, no mistakes.\n`);
    return 0;
  }
  const clock = createSystemClock();
  try {
    return await withGateway({ clock }, async (home) => {
      const [token = ''] = await createTokens(home, 'INSTALLER', 1);
      const { baseUrl } = home;
      const client = createGatewayClient({ baseUrl, tokens: [token], clock });
      const gateway = {
        client,
        clock,
        watchMs,
        upload: (zip: Uint8Array<ArrayBuffer>) => uploadWithWarnings(baseUrl, token, zip),
      };
      let isWell = true;
      if (against !== undefined) {
        const outcome = await againstDevice(asked, against, gateway);
        isWell = print(outcome);
        if (record !== undefined && outcome.image) {
          writeFileSync(record, stringify([outcome.image], { lineWidth: 110 }));
          process.stdout.write(`${record} has what the device answered.\n`);
        }
      }
      for (const one of images) isWell = print(await againstImage(asked, one, gateway)) && isWell;
      return isWell ? 0 : 1;
    });
  } finally {
    clock.close();
  }
}

const addressOf = (against: string | undefined) => (against === undefined ? {} : { address: against });

function askedOf(): Asked | undefined {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArguments({
    help: { type: 'boolean' },
    against: text,
    image: text,
    record: text,
    run: { type: 'string', multiple: true },
    set: { type: 'string', multiple: true },
    seconds: text,
  });
  if (values.help) return undefined;
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new UsageError('name one template file; see --help');
  const { against, image, record, run: commands = [], set = [] } = values;
  if (against !== undefined && image !== undefined) throw new UsageError('--against or --image, not both');
  if (record !== undefined && !TCP.test(against ?? ''))
    throw new UsageError('--record needs --against tcp://HOST:PORT: it records registers');
  if (commands.length > 0 && image === undefined)
    throw new UsageError('--run needs --image FILE: a device is only read');
  const given = set.map((pair) => {
    const [, name, value] = /^(\w+)=(.*)$/s.exec(pair) ?? [];
    if (name === undefined) throw new UsageError(`--set ${pair}: must be NAME=VALUE`);
    return [name, value] as const;
  });
  return {
    file,
    against,
    image,
    record,
    run: commands,
    given: Object.fromEntries(given) as Record<string, string>,
    watchMs: 1_000 * (whole('seconds', values.seconds, 1, 3_600) ?? 15),
  };
}

async function main(): Promise<number> {
  const asked = askedOf();
  if (!asked) {
    process.stdout.write(HELP);
    return 0;
  }
  try {
    return await tryAll(asked);
  } catch (error) {
    if (!(error instanceof FaultyTemplate)) throw error;
    process.stdout.write(`${error.message}\n`);
    return 1;
  }
}

if (import.meta.main) await runScript(main);
