import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { createServiceNotices, type ServiceNoticeOptions } from '../../../src/platform/systemd/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { managerSocket } from './manager-socket.ts';
import { type LogLine, recordingLog, temporaryFolder } from '../../support/workspace.ts';

/** Nobody listens there, so that the command is called. A command that writes down what it was called with, in the place of `systemd-notify`. */
function world(t: TestContext, options: Partial<ServiceNoticeOptions> = {}) {
  const folder = temporaryFolder(t);
  const command = join(folder, 'notify');
  const record = join(folder, 'record');
  writeFileSync(record, '');
  writeFileSync(
    command,
    `#!/bin/sh\nprintf '%s|' "$NOTIFY_SOCKET" "$@" >> '${record}'\necho >> '${record}'\n`,
    {
      mode: 0o700,
    },
  );
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const notices = createServiceNotices({
    notifySocket: NOBODY,
    watchdogMs: 60_000,
    isHealthy: () => true,
    clock,
    log,
    command,
    ...options,
  });
  const sent = (): string[] => readFileSync(record, 'utf8').split('\n').slice(0, -1);
  return { clock, notices, sent, lines };
}

const NOBODY = '/nonexistent/notify';
const childCount = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length;
const messages = (lines: LogLine[]): string[] =>
  lines.filter(({ level }) => level !== 'debug').map(({ message }) => message);

describe('notices to the service manager', () => {
  test('are not sent when no manager waits for them', async (t) => {
    const { clock, notices, sent } = world(t, { notifySocket: undefined });
    await notices.ready('listening');
    await notices.stopping();
    assert.deepEqual([sent(), clock.waiting], [[], 0]);
  });

  test('do not fail the gateway when the command is missing', async (t) => {
    const { notices, lines } = world(t, { command: '/nonexistent/systemd-notify' });
    await notices.ready('listening');
    assert.deepEqual(messages(lines), ['service manager was not told']);
  });

  test('do not fail the gateway when the command fails, and say what it said', async (t) => {
    const command = join(temporaryFolder(t), 'broken');
    writeFileSync(command, '#!/bin/sh\necho no socket >&2\nexit 3\n', { mode: 0o700 });
    const { notices, lines } = world(t, { command });
    await notices.stopping();
    assert.match(JSON.stringify(lines.at(-1)?.['error']), /ended with 3: no socket/);
  });

  test('tell ready with a status, and stopping', async (t) => {
    const { notices, sent } = world(t);
    await notices.ready('listening on 8080');
    await notices.stopping();
    assert.deepEqual(sent(), [`${NOBODY}|READY=1|STATUS=listening on 8080|`, `${NOBODY}|STOPPING=1|`]);
  });
});

describe('notices that this process sends itself', () => {
  for (const [kind, name, address] of [
    ['a path', (path: string) => path, (path: string) => path],
    ['a name that is no file', (path: string) => `@${path}`, (path: string) => `\0${path}`],
  ] as const)
    test(`arrive at ${kind}, one datagram each, without the command`, async (t) => {
      const path = join(temporaryFolder(t), 'notify');
      const manager = managerSocket(t, address(path));
      const { notices, sent, lines } = world(t, { notifySocket: name(path) });
      await notices.ready('listening on 8080');
      await notices.failing('no sun\nREADY=1');
      await notices.stopping();
      assert.equal(manager.received(), 'READY=1\nSTATUS=listening on 8080');
      assert.equal(manager.received(), 'STATUS=Cannot go on: no sun READY=1');
      assert.equal(manager.received(), 'STOPPING=1');
      assert.deepEqual([manager.received(), sent(), lines], [undefined, [], []]);
    });

  test('wait for room at the receiver without holding up anything else', async (t) => {
    const path = join(temporaryFolder(t), 'notify');
    const manager = managerSocket(t, path);
    const { notices, sent, clock } = world(t, { notifySocket: path });
    let underWay = 0;
    // The kernel keeps a number of datagrams for who does not read.
    while (underWay === 0) {
      underWay += 1;
      void notices.stopping().then(() => (underWay -= 1));
      await until(() => underWay === 0 || clock.waiting === 1);
    }
    manager.received();
    await clock.advance(1_000);
    await until(() => underWay === 0);
    assert.deepEqual(sent(), []);
  });

  test('go to the command where the address is none of a local socket', async (t) => {
    const { notices, sent } = world(t, { notifySocket: 'vsock:2:1234' });
    await notices.stopping();
    assert.deepEqual(sent(), ['vsock:2:1234|STOPPING=1|']);
  });
});

describe('the watchdog notice', () => {
  test('is not sent before ready, without a watchdog, or after stopping', async (t) => {
    const early = world(t);
    await early.clock.advance(60_000);
    assert.deepEqual(early.sent(), []);
    await early.notices.ready('x');
    await early.notices.stopping();
    assert.equal(early.clock.waiting, 0);

    const unwatched = world(t, { watchdogMs: undefined });
    await unwatched.notices.ready('x');
    assert.equal(unwatched.clock.waiting, 0);
  });

  test('is withheld while the health check answers no or throws, and comes back', async (t) => {
    let health: () => boolean = () => false;
    const { clock, notices, sent, lines } = world(t, { isHealthy: () => health() });
    await notices.ready('x');
    await clock.advance(30_000);
    health = () => {
      throw new Error('unreachable');
    };
    await clock.advance(30_000);
    assert.equal(sent().length, 1);
    assert.deepEqual(messages(lines), Array(2).fill('health check failed, watchdog notice withheld'));
    health = () => true;
    await clock.advance(30_000);
    await until(() => sent().length === 2);
    assert.equal(sent()[1], `${NOBODY}|WATCHDOG=1|`);
  });

  test('is withheld while the health check does not answer', async (t) => {
    let asked = 0;
    const isHealthy = (): Promise<boolean> => {
      asked++;
      return new Promise(() => undefined);
    };
    const { clock, notices, sent } = world(t, { isHealthy });
    await notices.ready('x');
    await clock.advance(300_000);
    assert.deepEqual([asked, sent().length], [1, 1]);
  });

  test('is sent twice per period', async (t) => {
    const { clock, notices, sent } = world(t);
    // The browser of other files, for one.
    const others = childCount();
    await notices.ready('x');
    for (let count = 1; count <= 4; count++) {
      await clock.advance(30_000);
      await until(() => sent().length === 1 + count && childCount() <= others);
    }
    assert.deepEqual(sent().slice(1), Array(4).fill(`${NOBODY}|WATCHDOG=1|`));
  });
});
