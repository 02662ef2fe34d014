/** `notify` of rules: what reaches the gateway, what is refused before, and what a dry run shows of it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { tryDry } from '../../support/dry-run.ts';
import { answers, ok, refused, startRule } from '../../support/rule-run.ts';

const { notificationsPerHour, notificationTextLength, notificationTitleLength } = LIMITS.rules;

async function said(
  code: string,
  own: Parameters<typeof answers>[0] = {},
  runtimeVersion: 'V1' | 'V3' = 'V3',
) {
  const rule = startRule(code, {
    answers: answers({ notify: () => ok(null), ...own }),
    rule: { runtimeVersion, execIntervalMs: 60_000 },
  });
  await rule.idle();
  // A script of V1 hands its log over a moment later.
  await rule.clock.advance(100);
  const asked = rule.asked.filter(({ method }) => method === 'notify').map(({ parameters }) => parameters);
  return { asked, entries: rule.entries.map(({ severity, message }) => `${severity} ${message}`) };
}

describe('notify', () => {
  for (const [title, call, fault] of [
    ['a blank title', `notify(' ')`, 'the title is empty'],
    [
      'a title that is too long',
      `notify(('t'):rep(${notificationTitleLength + 1}))`,
      `the title has more than ${notificationTitleLength} characters`,
    ],
    [
      'a text that is too long',
      `notify('t', ('x'):rep(${notificationTextLength + 1}))`,
      `the text has more than ${notificationTextLength} characters`,
    ],
    [
      'a severity that alerts do not have',
      `notify('t', 'x', 'debug')`,
      'the severity "debug" is none of info, warning, error',
    ],
  ] as const)
    test(`notify refuses ${title}, returns the reason and logs it`, async () => {
      const { asked, entries } = await said(
        `local sent, fault = ${call} print(tostring(sent) .. ' ' .. fault)`,
      );
      assert.deepEqual(asked, []);
      assert.match(entries[0] ?? '', new RegExp(`^warning notify ".*" was refused: ${fault}$`));
      assert.equal(entries[1], `debug nil ${fault}`);
    });

  test('notify names a title that is no text in the line of the script', async () => {
    const { asked, entries } = await said('notify(nil)');
    assert.deepEqual(asked, []);
    assert.match(entries.join('\n'), /main\.lua:1: bad argument #1 to 'notify' \(string expected, got nil\)/);
  });

  test('notify returns and logs what the gateway refuses', async () => {
    const { entries } = await said(`print(select(2, notify('Full')))`, {
      notify: () => refused('no notification channel takes messages of severity info'),
    });
    assert.deepEqual(entries.slice(0, 2), [
      'warning notify "Full" was refused: no notification channel takes messages of severity info',
      'debug no notification channel takes messages of severity info',
    ]);
  });

  test('notify counts a repeated refusal instead of logging it again', async () => {
    const rule = startRule(`scheduler.add(1000, function() notify('Full') end)`, {
      answers: answers({ notify: () => refused('no notification channel takes messages of severity info') }),
      rule: { runtimeVersion: 'V3' },
    });
    await rule.idle();
    const refusals = () =>
      rule.entries.map(({ message }) => message).filter((message) => /Full/.test(message));
    await rule.clock.advance(30_000);
    assert.equal(refusals().length, 1);
    await rule.clock.advance(60_000);
    assert.equal(refusals().length, 2);
    assert.match(refusals()[1] ?? '', /^\d+ times since \d\d:\d\d: notify "Full" was refused/);
  });

  test('notify sends the longest title and text, with severity info and no text by default', async () => {
    const { asked, entries } = await said(
      `print(notify('Full'))
       notify(('t'):rep(${notificationTitleLength}), ('x'):rep(${notificationTextLength}), 'error')`,
    );
    assert.deepEqual(asked, [
      { title: 'Full', text: '', severity: 'info' },
      {
        title: 't'.repeat(notificationTitleLength),
        text: 'x'.repeat(notificationTextLength),
        severity: 'error',
      },
    ]);
    assert.equal(entries[0], 'debug true');
  });

  test('notify leaves a function of this name to the script that has one', async () => {
    const { asked, entries } = await said(`function notify(text) print('own ' .. text) end notify('x')`);
    assert.deepEqual([asked, entries[0]], [[], 'debug own x']);
  });

  test('notify does not exist in runtime V1', async () => {
    const { entries } = await said('print(type(notify))', {}, 'V1');
    assert.equal(entries[0], 'debug nil');
  });

  test('notify sends nothing in a dry run, which shows each message and those beyond the limit', async () => {
    const { story, asked } = await tryDry(`
      for number = 1, ${notificationsPerHour + 1} do notify('Full', 'of sun ' .. number, 'warning') end
      scheduler.add(6 * 60000, function() notify('Later') end)`);
    const lines = story().filter((line) => line.includes('notification '));
    assert.equal(lines[0], '0 notification warning Full: of sun 1');
    assert.equal(
      lines[notificationsPerHour],
      `0 notification warning Full: of sun ${notificationsPerHour + 1} too many notifications, at most ${notificationsPerHour} in an hour`,
    );
    assert.equal(lines[notificationsPerHour + 1], '6 notification info Later: ');
    assert.equal(lines.length, notificationsPerHour + 11);
    assert.deepEqual(asked, []);
  });
});
