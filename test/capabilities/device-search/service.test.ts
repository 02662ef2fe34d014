/** A search as it goes on: real templates, a module and announcements that the test plays, HTTP on the loopback. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { DeviceSearch } from '../../../src/capabilities/device-search/index.ts';
import type { SearchEvent, SearchOrder } from '../../../src/capabilities/device-search/model.ts';
import { LibraryFiles } from '../../../src/capabilities/library/library-files.ts';
import { Recogniser } from '../../../src/capabilities/library/recognition.ts';
import { ModuleScans } from '../../../src/capabilities/modules/scans.ts';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { FoundService } from '../../../src/platform/mdns/index.ts';
import type { FromModule, ToModule } from '../../../src/protocol/module.ts';
import { startImageDevice } from '../../../scripts/simulate/image-device.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { recordingLog } from '../../support/workspace.ts';

const MODULE = { id: 'built-in', name: 'Built-in' } as Device;
const LOOPBACK = { address: '127.0.0.1', prefix: 8, isLoopback: true };
const ORDER: SearchOrder = { networks: ['127.0.0.1'], modbusPorts: [], httpPorts: [], serialPorts: false };
/** Less than the silence after which a module is lost. */
const SEARCH_MS = 60_000;
const recogniser = new Recogniser(new LibraryFiles());
const never = new AbortController().signal;

type Scan = ToModule & { type: 'scan' };
type Answer = { unit?: Omit<FromModule & { type: 'scan_unit' }, 'type' | 'id' | 'unit_id'>; end?: string };

/** @param answer what the module finds; undefined: it says nothing more */
function setUp(options: { services?: readonly FoundService[]; answer?: (scan: Scan) => Answer | undefined }) {
  const clock = new TestClock();
  const asked: Scan[] = [];
  const scans = new ModuleScans({
    clock,
    wake: () => undefined,
    send: (_, message) => {
      if (message.type !== 'scan') return;
      asked.push(message);
      const answer = options.answer?.(message);
      if (!answer) return;
      const { id, first_unit: unit_id } = message;
      queueMicrotask(() => {
        if (answer.unit) scans.receive(MODULE, { type: 'scan_unit', id, unit_id, ...answer.unit });
        scans.receive(MODULE, { type: 'scan_end', id, outcome: (answer.end ?? 'complete') as 'complete' });
      });
    },
  });
  scans.greeted(MODULE, 'r1');
  const search = new DeviceSearch({
    clock,
    log: recordingLog(clock).log,
    limits: { ...LIMITS, deviceSearch: { ...LIMITS.deviceSearch, searchMs: SEARCH_MS } },
    library: {
      searchQuestions: () => Promise.resolve(recogniser.questions({})),
      recognise: (evidence) => Promise.resolve(recogniser.recognise(evidence, {})),
    },
    modules: { scan: (_, order, signal) => scans.start(MODULE, order, signal) },
    serialPorts: () => ['rs485'],
    networks: () => [LOOPBACK],
    browse: () => Promise.resolve([...(options.services ?? [])]),
  });
  return { clock, asked, search };
}

async function eventsOf(events: ReturnType<DeviceSearch['start']>): Promise<SearchEvent[]> {
  const all: SearchEvent[] = [];
  for (let event = await events.next(); event !== undefined; event = await events.next())
    if (event.type !== 'progress') all.push(event);
  return all;
}

const shelly = async (t: TestContext) => {
  const answers = { '/shelly': { type: 'SHEM-3' }, '/status': { mac: 'A4CF12' } };
  const device = await startImageDevice({ name: 'meter', answers, expect: {} }, false);
  t.after(() => device.close());
  return device;
};

describe('a search', () => {
  test('a search ends with its results when its time is over', async () => {
    const { clock, search } = setUp({});
    const all = eventsOf(search.start({ ...ORDER, serialPorts: true }, never));
    await clock.advance(SEARCH_MS);
    assert.deepEqual((await all).at(-1), { type: 'end', outcome: 'TIME_LIMIT' });
  });

  test('a search names a line that cannot be searched, and goes on', async () => {
    const { search, asked } = setUp({ answer: () => ({ end: 'in_use' }) });
    const [problem, ...rest] = await eventsOf(search.start({ ...ORDER, serialPorts: true }, never));
    assert.ok(problem?.type === 'problem' && problem.address === 'port://rs485');
    assert.match(problem.message, /in use/);
    assert.deepEqual(rest, [{ type: 'end', outcome: 'COMPLETE' }]);
    assert.equal(asked.length, 1);
  });

  test('a search tries the settings of a serial line until somebody answers, and reads what identifies a template', async () => {
    const { search, asked } = setUp({
      answer: ({ baud_rate: baud, reads }) => {
        if (baud !== 19_200) return {};
        const words = reads?.map(({ kind, start }) => (kind === 'input' && start === 4 ? [0x0108] : null));
        return { unit: { outcome: 'answers', ...(words && { reads: words }) } };
      },
    });
    const events = await eventsOf(search.start({ ...ORDER, serialPorts: true }, never));
    const [found] = events;
    assert.ok(found?.type === 'found');
    assert.equal(found.device.transport, 'MODBUS_RTU');
    assert.deepEqual(
      found.device.templates.map(({ id }) => id),
      ['heidelberg-energy-control'],
    );
    assert.deepEqual(found.device.connection, { address: 'port://rs485', unit_id: 1 });
    assert.equal(asked[0]?.baud_rate, undefined);
    assert.equal(asked.at(-1)?.baud_rate, 19_200);
    assert.ok(
      events.length === 2 && asked.every(({ last_unit: last }) => last <= LIMITS.deviceSearch.lineUnits),
    );
  });

  test('a search lists once a device that both announces itself and has an interface, and one that only announces itself', async (t) => {
    const { port } = await shelly(t);
    const announced = (name: string, address: string): FoundService => ({
      type: '_shelly._tcp',
      name,
      address,
      port: 80,
    });
    const services = [announced('shellypro3em-1', '127.0.0.1'), announced('shellypro3em-2', '127.0.0.9')];
    const { search } = setUp({ services });
    const events = await eventsOf(search.start({ ...ORDER, httpPorts: [port] }, never));
    assert.deepEqual(
      events.map((event) =>
        event.type === 'found'
          ? [event.device.address, event.device.serialNumber, event.device.connection]
          : event.type,
      ),
      [
        [`127.0.0.1:${port}`, 'A4CF12', { address: `127.0.0.1:${port}` }],
        ['127.0.0.9', undefined, { address: '127.0.0.9' }],
        'end',
      ],
    );
  });

  test('passes over hosts that are silent, hang up or speak nonsense, and finds a device that drops unknown pages', async (t) => {
    const { port } = await shelly(t);
    const answer = (text: string) => (socket: Socket) =>
      void socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    const hosts: ((socket: Socket, request: string) => void)[] = [
      (socket) => socket.destroy(),
      () => undefined,
      (socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
      answer('x'.repeat(LIMITS.deviceSearch.httpAnswerBytes + 1)),
      answer('[null, { "find": 1 }]'),
      answer('{ "find": 1, "meters": [null] }'),
      answer('['.repeat(30_000)),
      (socket, request) =>
        request.startsWith('GET /shelly ') ? answer('{ "type": "SHEM-3" }')(socket) : socket.destroy(),
    ];
    for (const [index, behave] of hosts.entries()) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined).on('data', (bytes) => behave(socket, bytes.toString('latin1')));
      });
      server.listen(port, `127.0.0.${index + 2}`);
      await once(server, 'listening');
      t.after(() => server.close());
    }
    const { clock, search } = setUp({});
    const events = search.start({ ...ORDER, networks: ['127.0.0.0/28'], httpPorts: [port] }, never);
    const found: string[] = [];
    let isEnded = false;
    const reading = (async () => {
      for (let event = await events.next(); event !== undefined; event = await events.next()) {
        if (event.type === 'found') found.push(event.device.address);
        if (event.type === 'end') isEnded = event.outcome === 'COMPLETE';
      }
    })();
    const devices = [`127.0.0.1:${port}`, `127.0.0.9:${port}`];
    await until(() => found.length === devices.length);
    await until(async () => {
      await clock.advance(LIMITS.deviceSearch.httpAnswerMs / 4);
      return isEnded;
    });
    await reading;
    assert.deepEqual(found.toSorted(), devices);
  });

  test('a search is refused while another one goes on', async () => {
    const { search } = setUp({});
    const leaving = new AbortController();
    const first = search.start({ ...ORDER, serialPorts: true }, leaving.signal);
    assert.throws(() => search.start(ORDER, never), /Another search goes on/);
    leaving.abort();
    await eventsOf(first);
    assert.equal((await eventsOf(search.start(ORDER, never))).at(-1)?.type, 'end');
  });
});
