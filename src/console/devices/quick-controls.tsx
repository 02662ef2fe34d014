/** Commands that are used daily, as their blueprints say, where the site is seen. */
import { type LiveDevice, watchValues } from '../live.ts';
import { CommandControl, hasControl } from '../parts/command-control.tsx';
import { kindOf, shownBy } from '../parts/command-kind.ts';
import { isQuick } from '../parts/quick.ts';
import { may } from '../session.ts';
import { Card, useAnswer } from '../ui.tsx';
import type { Command } from '../shapes.ts';
import { say } from '../words/index.ts';

/** More would be no daily use any more. */
const SHOWN_MAX = 8;

interface Quick {
  live: LiveDevice;
  name: string;
  command: Command;
}

const quickOf = (live: LiveDevice): Quick[] =>
  Object.entries(live.manifest?.commands ?? {})
    .filter(([, command]) => isQuick(command) && may(command.access_level) && hasControl(command))
    .map(([name, command]) => ({ live, name, command }));

/** The value that shows what a command has done. */
function valueOf({ live, name, command }: Quick): string[] {
  const kind = kindOf(command);
  const argument = kind && 'argument' in kind ? kind.argument : undefined;
  const declared = argument === undefined ? undefined : command.arguments?.[argument];
  const shown =
    argument !== undefined && declared && live.manifest && shownBy(name, argument, declared, live.manifest);
  return typeof shown === 'string' ? [shown] : [];
}

export function QuickControls({ devices }: { devices: readonly LiveDevice[] }) {
  const all = devices.flatMap(quickOf).slice(0, SHOWN_MAX);
  const ids = all.map(({ live, name }) => `${live.device.id} ${name}`).join();
  useAnswer(async () => {
    const wanted = new Map<string, string[]>();
    for (const one of all)
      wanted.set(one.live.device.id, [...(wanted.get(one.live.device.id) ?? []), ...valueOf(one)]);
    await watchValues(wanted);
  }, [ids]);
  if (all.length === 0) return null;
  return (
    <Card title={say.site.controls} data-test="quick-controls">
      <ul class="controls">
        {all.map((one) => (
          <li key={`${one.live.device.id} ${one.name}`}>
            <span class="what">
              <b>{one.command.display_name}</b>
              <small>{one.live.device.name}</small>
            </span>
            <CommandControl {...one} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
