/** Device commands over HTTP (docs/interface/http.md#commands). Whole bodies compared. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { Bench } from '../capabilities/commands/support.ts';
import { settle } from '../support/test-clock.ts';
import { until } from '../support/until.ts';
import { type Context, startCommands as start } from './support.ts';

const CREATED = '2026-03-01T08:00:00.000Z';

/** Starts a call and answers for the device as soon as the request was published. */
async function askAndAnswer(
  context: Context,
  path: string,
  body: unknown,
  word: string,
  payload?: unknown,
): Promise<{ status: number; body: unknown; headers: Headers }> {
  const { bench, device } = context;
  const already = bench.sent.length;
  const answer = context.ask('OWNER', 'POST', path, body);
  await until(() => bench.sent.length > already);
  const sent = bench.sent[already];
  assert.ok(sent);
  await settle();
  await bench.answer(device, sent, word, payload);
  return answer;
}

describe('Execute', () => {
  test('Execute answers the finished execution', async (t) => {
    const context = await start(t);
    const { status, body } = await askAndAnswer(
      context,
      '/v3/devices/battery/commands/execute?expand=',
      { name: 'ping' },
      'completed',
      {
        result: null,
      },
    );
    assert.equal(status, 200);
    assert.deepEqual(body, {
      execution: {
        id: context.bench.sent[0]?.id,
        device_id: context.device.id,
        state: 'SUCCESS',
        ephemeral: false,
        created_at: CREATED,
        request: { name: 'ping', arguments: {}, manifest_name: 'ping' },
        response: { state: 'SUCCEEDED', payload: { result: null }, received_at: CREATED },
      },
    });
  });

  test('Execute shows every response with expand=log, newest first; sensitive values are masked', async (t) => {
    const context = await start(t);
    const body = { name: 'set_limit', arguments: { value: 5, pin: '1234' }, ephemeral: true };
    const answer = await askAndAnswer(
      context,
      '/v3/devices/battery/execute_command?expand=log',
      body,
      'error',
      { reason: 'locked' },
    );
    const failure = {
      state: 'ERROR',
      payload: { reason: 'locked', message: 'locked' },
      received_at: CREATED,
    };
    assert.deepEqual(answer.body, {
      execution: {
        id: context.bench.sent[0]?.id,
        device_id: context.device.id,
        state: 'ERROR',
        ephemeral: true,
        created_at: CREATED,
        request: { name: 'set_limit', arguments: { value: 5, pin: '***' }, manifest_name: 'set_limit' },
        response: failure,
        log: [failure, { state: 'STARTED', payload: {}, received_at: CREATED }],
      },
    });
    assert.deepEqual(context.bench.sent[0]?.arguments, { value: 5, pin: '1234' });
  });

  test('Execute keeps an alias as the name and shows the manifest name', async (t) => {
    const context = await start(t);
    const { body } = await askAndAnswer(
      context,
      '/v3/devices/battery/commands/execute',
      { name: 'probe' },
      'completed',
    );
    const { request } = (body as { execution: { request: unknown } }).execution;
    assert.deepEqual(request, { name: 'probe', arguments: {}, manifest_name: 'ping' });
  });

  test('Execute reports a timeout as an execution with an ERROR response whose payload has a message', async (t) => {
    const { ask, bench } = await start(t);
    const answer = ask('OWNER', 'POST', '/v3/devices/battery/execute_command', { name: 'ping' });
    await until(() => bench.sent.length === 1);
    await passTime(bench, 62_000);
    const { execution } = (await answer).body as { execution: Record<string, unknown> };
    assert.equal(execution.state, 'TIMEOUT');
    assert.deepEqual(execution.response, {
      state: 'ERROR',
      payload: { message: 'The device did not answer within 60 s.' },
      received_at: '2026-03-01T08:01:00.000Z',
    });
  });
});

/** Moves the clock in steps, so that the server can write between them. */
async function passTime(bench: Bench, durationMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < durationMs; passedMs += 500) {
    await bench.clock.advance(500);
    await settle();
  }
}

/** Reads what has arrived so far. */
function collect(response: Response): { text: () => string; ended: Promise<void> } {
  let text = '';
  const decoder = new TextDecoder();
  const read = async (): Promise<void> => {
    for await (const chunk of response.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true });
  };
  const ended = read();
  // A caller who leaves ends the reading; whoever waits for `ended` sees it.
  ended.catch(() => undefined);
  return { text: () => text, ended };
}

describe('the waiting answer', () => {
  const path = '/v3/devices/battery/execute_command';

  /** A call whose headers have arrived because nothing else did for two seconds. */
  async function waiting(t: TestContext, signal?: AbortSignal) {
    const context = await start(t);
    const opening = context.open('OWNER', 'POST', path, { name: 'ping' }, signal);
    await until(() => context.bench.sent.length === 1);
    await passTime(context.bench, 2_500);
    const response = await opening;
    return {
      ...context,
      response,
      body: collect(response),
      running: context.bench.sent[0] as { id: string },
    };
  }

  test('the waiting answer is silent for two seconds, then headers and a blank every two seconds, then the JSON', async (t) => {
    const { bench, device, response, body, running } = await waiting(t);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'application/json');
    assert.equal(response.headers.get('content-encoding'), null);
    await until(() => body.text() === ' ');
    await passTime(bench, 2_000);
    await until(() => body.text() === '  ');
    await passTime(bench, 4_000);
    await until(() => body.text() === '    ');
    await bench.answer(device, running, 'completed', { result: 1 });
    await body.ended;
    assert.match(body.text(), /^ {4,5}\{/);
    const { execution } = JSON.parse(body.text()) as { execution: Record<string, unknown> };
    assert.equal(execution.state, 'SUCCESS');
  });

  test('the waiting answer has no blank when the end comes within two seconds', async (t) => {
    const { open, bench, device } = await start(t);
    const opening = open('OWNER', 'POST', path, { name: 'ping' });
    await until(() => bench.sent.length === 1);
    await bench.clock.advance(900);
    await bench.answer(device, bench.sent[0] as { id: string }, 'completed');
    const response = await opening;
    assert.ok((await response.text()).startsWith('{'));
  });

  test('a caller who leaves does not end the execution, and leaves no timer', async (t) => {
    const leaving = new AbortController();
    const { bench, device, body, running } = await waiting(t, leaving.signal);
    leaving.abort();
    await assert.rejects(body.ended);
    await settle();
    assert.equal(bench.stored(running)?.state, 'IN_PROGRESS');
    const timers = bench.clock.waiting;
    await passTime(bench, 5_000);
    assert.ok(bench.clock.waiting <= timers);
    await bench.answer(device, running, 'completed', { result: 2 });
    assert.equal(bench.stored(running)?.state, 'SUCCESS');
  });

  test('the waiting answer ends with the state so far when the gateway stops, so that nobody sends the command again', async (t) => {
    const { stop, body, running } = await waiting(t);
    await stop();
    await body.ended;
    const { execution } = JSON.parse(body.text()) as { execution: Record<string, unknown> };
    assert.equal(execution.id, running.id);
    assert.equal(execution.state, 'IN_PROGRESS');
  });
});

describe('Create execution and Get execution', () => {
  test('Create execution answers the id at once, and Get execution the execution', async (t) => {
    const executions = '/v3/devices/battery/commands/executions';
    const { ask, bench, device } = await start(t);
    const created = await ask('USER', 'POST', executions, { name: 'ping', ephemeral: true });
    const id = bench.sent[0]?.id ?? '';
    assert.deepEqual(
      { status: created.status, body: created.body },
      { status: 200, body: { execution_id: id } },
    );
    const expected = {
      id,
      device_id: device.id,
      state: 'NEW',
      ephemeral: true,
      created_at: CREATED,
      request: { name: 'ping', arguments: {}, manifest_name: 'ping' },
    };
    const fresh = await ask('READONLY', 'GET', `${executions}/${id}?expand=log`);
    assert.deepEqual(fresh.body, { execution: { ...expected, log: [] } });
    await bench.clock.advance(100);
    const started = { state: 'STARTED', payload: {}, received_at: CREATED };
    const sent = await ask('READONLY', 'GET', `${executions}/${id}?expand=`);
    assert.deepEqual(sent.body, {
      execution: { ...expected, state: 'IN_PROGRESS', response: started },
    });
  });

  test('a read-only caller may run a command of access level readonly', async (t) => {
    const { ask } = await start(t);
    const { status } = await ask('READONLY', 'POST', '/v3/devices/battery/command_executions', {
      name: 'look',
    });
    assert.equal(status, 200);
  });
});
