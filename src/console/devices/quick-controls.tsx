/** Commands as controls, where the site or a device is seen. */
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
/** Longer lists have a page of their own. */
const OF_DEVICE_MAX = 5;

interface Quick {
  live: LiveDevice;
  name: string;
  command: Command;
}

const controlsOf = (live: LiveDevice): Quick[] =>
  Object.entries(live.manifest?.commands ?? {})
    .filter(([, command]) => may(command.access_level) && hasControl(command))
    .map(([name, command]) => ({ live, name, command }));

/** One touch is enough for it. */
const isSwitch = ({ command }: Quick): boolean => kindOf(command)?.kind === 'switch';

/** The value that shows what a command has done. */
function valueOf({ live, name, command }: Quick): string[] {
  const kind = kindOf(command);
  const argument = kind && 'argument' in kind ? kind.argument : undefined;
  const declared = argument === undefined ? undefined : command.arguments?.[argument];
  const shown =
    argument !== undefined && declared && live.manifest && shownBy(name, argument, declared, live.manifest);
  return typeof shown === 'string' ? [shown] : [];
}

/** Those that are used daily, as their blueprints say; switches first. */
export function QuickControls({ devices }: { devices: readonly LiveDevice[] }) {
  const all = devices
    .flatMap(controlsOf)
    .filter(({ command }) => isQuick(command))
    .slice(0, SHOWN_MAX)
    .toSorted((a, b) => Number(isSwitch(b)) - Number(isSwitch(a)));
  const ids = all.map(({ live, name }) => `${live.device.id} ${name}`).join();
  useAnswer(async () => {
    const wanted = new Map<string, string[]>();
    for (const one of all)
      wanted.set(one.live.device.id, [...(wanted.get(one.live.device.id) ?? []), ...valueOf(one)]);
    await watchValues(wanted);
  }, [ids]);
  return <Controls all={all} aboutOf={({ live }) => live.device.name} />;
}

/** Those of a device whose values are watched already, the daily ones first. */
export function DeviceControls({ live }: { live: LiveDevice }) {
  const all = controlsOf(live).toSorted((a, b) => Number(isQuick(b.command)) - Number(isQuick(a.command)));
  return <Controls all={all.slice(0, OF_DEVICE_MAX)} aboutOf={({ command }) => command.description} />;
}

function Controls({
  all,
  aboutOf,
}: {
  all: readonly Quick[];
  /** Text below the name of the command. */
  aboutOf: (one: Quick) => string | undefined;
}) {
  if (all.length === 0) return null;
  return (
    <Card title={say.site.controls} data-test="quick-controls">
      <ul class="controls">
        {all.map((one) => (
          <li key={`${one.live.device.id} ${one.name}`}>
            <span class="what">
              <b>{one.command.display_name}</b>
              {aboutOf(one) !== undefined && <small>{aboutOf(one)}</small>}
            </span>
            <CommandControl {...one} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
