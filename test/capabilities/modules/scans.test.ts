/** Scans as the gateway passes them on, with a module that the test plays over real MQTT. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { ModuleScans, RESTING, type ScanOrder } from '../../../src/capabilities/modules/scans.ts';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { ToModule } from '../../../src/protocol/module.ts';
import { TestClock } from '../../support/test-clock.ts';
import { refusal, useTestGateway } from '../../support/test-gateway.ts';
import { type PlayedModule, provisionModule } from './played-module.ts';

const BOARD = { id: 'board', name: 'Board' } as Device;
const ORDER: ScanOrder = { uri: 'tcp://a', first_unit: 1, last_unit: 9, timeout_ms: 100 };

function setUp() {
  const clock = new TestClock();
  const sent: ToModule[] = [];
  let borrowed = 0;
  const scans = new ModuleScans({
    clock,
    send: (_, message) => void sent.push(message),
    wake: () => {
      borrowed += 1;
      return () => void (borrowed -= 1);
    },
  });
  return { clock, sent, scans, borrowed: () => borrowed };
}

const never = new AbortController().signal;

describe('a scan by a module', () => {
  test('a scan waits for the process of a resting module, and is refused when it does not come', async () => {
    const { clock, sent, scans, borrowed } = setUp();
    scans.greeted(BOARD, RESTING);
    const late = assert.rejects(scans.start(BOARD, ORDER, never), /"Board" is offline/);
    assert.equal(borrowed(), 1);
    await clock.advance(LIMITS.module.scanReadyMs);
    await late;
    assert.equal(borrowed(), 0);
    const started = scans.start(BOARD, ORDER, never);
    scans.greeted(BOARD, RESTING);
    // It is away for a while, when a slow board starts it.
    scans.moduleOffline(BOARD);
    assert.equal(sent.length, 0);
    scans.greeted(BOARD, 'r1');
    const scan = await started;
    assert.equal(sent[0]?.type, 'scan');
    scan.close();
    assert.equal(borrowed(), 0);
  });

  test('a scan is stopped at the module when nobody wants it, and not after it is over', async () => {
    const { sent, scans } = setUp();
    scans.greeted(BOARD, 'r1');
    const leaving = new AbortController();
    const left = await scans.start(BOARD, ORDER, leaving.signal);
    leaving.abort();
    assert.equal(await left.next(), undefined);
    const scan = await scans.start(BOARD, ORDER, never);
    const [, , order] = sent;
    assert.ok(order?.type === 'scan');
    scans.receive(BOARD, { type: 'scan_end', id: order.id, outcome: 'complete' });
    assert.equal((await scan.next())?.type, 'scan_end');
    assert.equal(await scan.next(), undefined);
    assert.deepEqual(
      sent.map(({ type }) => type),
      ['scan', 'scan_stop', 'scan'],
    );
  });

  test('a scan by a module ends when the module starts again, goes offline, or says nothing any more', async () => {
    const { clock, scans } = setUp();
    for (const [lose, reason] of [
      [() => scans.greeted(BOARD, 'r2'), /started again/],
      [() => scans.moduleOffline(BOARD), /offline/],
      [() => clock.advance(LIMITS.module.scanSilenceMs), /does not answer/],
    ] as const) {
      scans.greeted(BOARD, 'r1');
      const scan = await scans.start(BOARD, ORDER, never);
      void lose();
      const event = await scan.next();
      assert.ok(event?.type === 'scan_end' && event.outcome === 'module_lost');
      assert.match(event.reason ?? '', reason);
    }
  });
});

describe('a scan over HTTP', () => {
  const gateway = useTestGateway();
  let module: PlayedModule;
  before(async () => {
    module = await provisionModule(gateway(), 'Board', 'V00000000000000000000000000000002');
  });

  test('a scan over HTTP is refused: a body that says too little or too much', async () => {
    for (const [path, body] of [
      ['test', {}],
      ['test', { uri: '192.168.1.20' }],
      ['test', { uri: 'tcp://a', unit_id: 256 }],
      ['test', { uri: 'tcp://a', timeout_ms: LIMITS.field.scanAnswerMsMax + 1 }],
      ['scan', { uri: 'port://a', baud_rate: 1 }],
      ['scan', { uri: 'port://a', first_unit: -1 }],
    ] as const) {
      const answer = await gateway().call('INSTALLER', 'POST', `/v3/modbus/${path}`, body);
      assert.equal(refusal(answer), '400 invalid_body', JSON.stringify(body));
    }
  });

  test('a scan over HTTP is refused: no module, none of its kind, none that is there', async () => {
    const { call, provision } = gateway();
    const ask = async (runtime: string): Promise<string> =>
      refusal(await call('INSTALLER', 'POST', '/v3/modbus/scan', { uri: 'tcp://a', runtime_id: runtime }));
    assert.equal(await ask('nobody'), '404 device_not_found');
    assert.equal(await ask((await provision()).id), '422 invalid_runtime');
    assert.equal(await ask(module.device.id), '422 device_offline');
    assert.equal(await ask('gateway'), '422 device_offline', 'its module is off in this test');
  });

  test('a scan over HTTP returns each unit as soon as it is known, one scan of a kind at a time', async () => {
    await module.connect();
    await module.say({ type: 'hello', version: 1, run: 'r1', offers: ['modbus'] });
    await module.next('assignments');
    const body = { uri: 'tcp://10.0.0.9:502', runtime_id: module.device.id, first_unit: 2, last_unit: 1 };
    const answer = await gateway().request('INSTALLER', 'POST', '/v3/modbus/scan', body);
    assert.equal(answer.headers.get('content-type'), 'application/x-ndjson');
    const lines = linesOf(answer);
    const order = await module.next('scan');
    assert.deepEqual(
      { ...order, id: '' },
      { type: 'scan', id: '', uri: body.uri, first_unit: 1, last_unit: 2, timeout_ms: 1_000 },
    );
    assert.equal(
      refusal(
        await gateway().call('INSTALLER', 'POST', '/v3/modbus/test', {
          ...body,
          first_unit: undefined,
          last_unit: undefined,
        }),
      ),
      '409 scan_active',
    );
    const { id } = order;
    const sunspec = { manufacturer: 'Acme', model: 'Hybrid 5', serial_number: '4711' };
    await module.say({ type: 'scan_unit', id, unit_id: 1, outcome: 'answers', sunspec });
    assert.deepEqual((await lines.next()).value, {
      type: 'unit',
      unit_id: 1,
      outcome: 'ANSWERS',
      message: 'Unit 1 answers: Acme Hybrid 5, serial number 4711.',
      sunspec,
    });
    await module.say({ type: 'scan_unit', id, unit_id: 2, outcome: 'silent' });
    await module.say({ type: 'scan_end', id, outcome: 'complete' });
    assert.deepEqual((await lines.next()).value, {
      type: 'unit',
      unit_id: 2,
      outcome: 'SILENT',
      message: 'Unit 2 does not answer within 1000 ms.',
    });
    assert.deepEqual((await lines.next()).value, {
      type: 'end',
      outcome: 'COMPLETE',
      message: 'All units were asked.',
    });
    assert.equal((await lines.next()).done, true);
  });

  test('a scan over HTTP is ended at the module when the caller goes away', async () => {
    const leaving = new AbortController();
    const answer = await fetch(`${gateway().origin}/v3/modbus/scan`, {
      method: 'POST',
      headers: { 'x-service-auth-token': gateway().token('INSTALLER') },
      body: JSON.stringify({ uri: 'port://rs485', runtime_id: module.device.id, baud_rate: 19_200 }),
      signal: leaving.signal,
    });
    assert.equal(answer.status, 200);
    const { id, baud_rate, timeout_ms } = await module.next('scan');
    assert.deepEqual([baud_rate, timeout_ms], [19_200, LIMITS.field.scanSerialAnswerMs]);
    leaving.abort();
    assert.equal((await module.next('scan_stop')).id, id);
  });

  const SENTENCES: [title: string, said: object, expected: RegExp][] = [
    [
      'an exception',
      {
        type: 'scan_unit',
        unit_id: 1,
        outcome: 'exception',
        exception_code: 2,
        reason: 'illegal data address',
      },
      /^Unit 1 is there, and refuses .* exception 2 \(illegal data address\)\.$/,
    ],
    [
      'a converter',
      { type: 'scan_unit', unit_id: 1, outcome: 'silent', reason: 'gateway path unavailable' },
      /says "gateway path unavailable"/,
    ],
    [
      'a wrong checksum',
      { type: 'scan_unit', unit_id: 1, outcome: 'garbled', reason: 'wrong checksum' },
      /wrong checksum\. Perhaps something else/,
    ],
    [
      'an end',
      { type: 'scan_unit', unit_id: 1, outcome: 'closed', reason: 'closed by the device' },
      /The connection ends/,
    ],
    [
      'an identification',
      {
        type: 'scan_unit',
        unit_id: 1,
        outcome: 'answers',
        identification: { vendor: 'Acme', product_code: 'H5' },
      },
      /answers: Acme H5\.$/,
    ],
    ['no name', { type: 'scan_unit', unit_id: 1, outcome: 'answers' }, /does not say what it is/],
    [
      'no way',
      { type: 'scan_end', outcome: 'unreachable', reason: 'connection refused' },
      /^tcp:\/\/a cannot be reached: connection refused\.$/,
    ],
    ['a line in use', { type: 'scan_end', outcome: 'in_use', reason: 'a script keeps it' }, /is in use/],
    ['another scan', { type: 'scan_end', outcome: 'busy' }, /Another scan/],
    ['no port', { type: 'scan_end', outcome: 'no_port', reason: 'none' }, /leads nowhere/],
    ['the time limit', { type: 'scan_end', outcome: 'time_limit' }, /too long/],
  ];
  for (const [title, said, expected] of SENTENCES)
    test(`a scan over HTTP is a sentence in a test of one unit: ${title}`, async () => {
      const body = { uri: 'tcp://a', runtime_id: module.device.id };
      const asked = gateway().ok('INSTALLER', 'POST', '/v3/modbus/test', body);
      const { id } = await module.next('scan');
      await module.say({ id, ...said } as Parameters<PlayedModule['say']>[0]);
      const { test: outcome } = (await asked) as { test: { message: string; usable: boolean } };
      assert.match(outcome.message, expected);
      assert.equal(outcome.usable, 'outcome' in said && /answers|exception/.test(String(said.outcome)));
    });
});

async function* linesOf(answer: Response): AsyncGenerator<unknown> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line) as unknown;
  }
  assert.equal(rest, '');
}
