/** Identifies devices by what their HTTP interface says: GET only, on the paths that templates name. */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { HttpClient, HttpFailure } from '../../platform/http-client/index.ts';
import type { DeviceLibrary, RecognisedDevice } from '../library/index.ts';
import type { FoundDevice } from './model.ts';

interface HttpSearchOptions {
  library: Pick<DeviceLibrary, 'recognise'>;
  clock: Clock;
  limits: Limits['deviceSearch'];
}

const HTTP_PORT = 80;

/** Undefined: it is no device of the library. */
export async function identifyByHttp(
  { library, clock, limits }: HttpSearchOptions,
  { host, port, paths }: { host: string; port: number; paths: readonly string[] },
  signal: AbortSignal,
): Promise<FoundDevice | undefined> {
  const client = new HttpClient({
    clock,
    timeoutMs: limits.httpAnswerMs,
    answerMaxBytes: limits.httpAnswerBytes,
  });
  const base = `http://${host}:${port}`;
  const asking = { client, base, clock, signal, mostLostMs: limits.httpAnswerMs / 2 };
  try {
    const answers = await answersOf(asking, paths);
    if (Object.keys(answers).length === 0) return undefined;
    const first = await library.recognise({ answers });
    if (first.length === 0) return undefined;
    const more = new Set(
      first.flatMap(({ identity }) => identity.paths).filter((path) => !(path in answers)),
    );
    const identity = await answersOf(asking, [...more]);
    return foundAt({ host, port }, await library.recognise({ answers: { ...answers, ...identity } }));
  } finally {
    client.close();
  }
}

interface Asking {
  client: HttpClient;
  base: string;
  clock: Clock;
  signal: AbortSignal;
  /** Time for requests without an answer. */
  mostLostMs: DurationMs;
}

/**
 * Good answers by path. Small servers end the connection where they have no such page, which costs no time; one that is
 * silent is not asked for the rest.
 */
async function answersOf(
  { client, base, clock, signal, mostLostMs }: Asking,
  paths: readonly string[],
): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  let lostMs = 0;
  for (const path of paths) {
    const beginMs = clock.monotonicMs();
    try {
      const call = { method: 'GET', url: new URL(path, base), headers: {} } as const;
      const { status, text } = await client.send(call, signal);
      if (status === 200) answers[path] = text;
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      lostMs += clock.monotonicMs() - beginMs;
      if (lostMs >= mostLostMs) break;
    }
  }
  return answers;
}

/** A device where something was found out about it that is no register. */
export function foundAt(
  { host, port }: { host: string; port: number | undefined },
  templates: readonly RecognisedDevice[],
): FoundDevice | undefined {
  const [first, ...others] = templates;
  if (!first) return undefined;
  const { transport } = first;
  const isUsual = port === undefined || port === first.port;
  const address =
    transport === 'MODBUS_TCP'
      ? `tcp://${host}:${first.port}`
      : isUsual && first.port === HTTP_PORT
        ? host
        : `${host}:${port ?? first.port}`;
  return {
    transport,
    address,
    maker: first.maker,
    model: first.model ?? (others.length === 0 ? first.name : undefined),
    serialNumber: first.serialNumber,
    templates: templates.map(({ id, name }) => ({ id, name })),
    connection: transport === 'MQTT' ? {} : { address },
  };
}
