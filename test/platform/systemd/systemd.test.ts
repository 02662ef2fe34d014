import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { createServiceNotices, type ServiceNoticeOptions } from '../../../src/platform/systemd/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { type LogLine, recordingLog, temporaryFolder } from '../../support/workspace.ts';

/** A command that writes down its arguments takes the place of `systemd-notify`. */
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
    notifySocket: SOCKET,
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

const SOCKET = '/nonexistent/notify';
const childCount = (): number =>
  process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length;
const messages = (lines: LogLine[]): string[] => lines.map(({ message }) => message);

describe('notices to the service manager', () => {
  test('no notice is sent when no manager waits for one', async (t) => {
    const { clock, notices, sent } = world(t, { notifySocket: undefined });
    await notices.ready('listening');
    await notices.stopping();
    assert.deepEqual([sent(), clock.waiting], [[], 0]);
  });

  test('a missing command fails no notice', async (t) => {
    const { notices, lines } = world(t, { command: '/nonexistent/systemd-notify' });
    await notices.ready('listening');
    assert.deepEqual(messages(lines), ['service manager was not told']);
  });

  test('a failing command is logged with its output', async (t) => {
    const command = join(temporaryFolder(t), 'broken');
    writeFileSync(command, '#!/bin/sh\necho no socket >&2\nexit 3\n', { mode: 0o700 });
    const { notices, lines } = world(t, { command });
    await notices.stopping();
    assert.match(JSON.stringify(lines.at(-1)?.['error']), /ended with 3: no socket/);
  });

  test('the notices ready, with a status, and stopping are sent', async (t) => {
    const { notices, sent } = world(t);
    await notices.ready('listening on 8080');
    await notices.stopping();
    assert.deepEqual(sent(), [`${SOCKET}|READY=1|STATUS=listening on 8080|`, `${SOCKET}|STOPPING=1|`]);
  });
});

describe('the watchdog notice', () => {
  test('the watchdog notice is not sent before ready, without a watchdog, or after stopping', async (t) => {
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

  test('the watchdog notice is withheld while the health check fails, and resumes with it', async (t) => {
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
    assert.equal(sent()[1], `${SOCKET}|WATCHDOG=1|`);
  });

  test('the watchdog notice is withheld while the health check does not answer', async (t) => {
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

  test('the watchdog notice is sent twice per period', async (t) => {
    const { clock, notices, sent } = world(t);
    // The browser of other files, for one.
    const others = childCount();
    await notices.ready('x');
    for (let count = 1; count <= 4; count++) {
      await clock.advance(30_000);
      await until(() => sent().length === 1 + count && childCount() <= others);
    }
    assert.deepEqual(sent().slice(1), Array(4).fill(`${SOCKET}|WATCHDOG=1|`));
  });
});
