/** Communication modules, the ports of the one that is built in, and the search for devices. */
import { DeviceSearch } from '../capabilities/device-search/index.ts';
import { ModulePorts } from '../capabilities/module-ports/index.ts';
import { Modules } from '../capabilities/modules/index.ts';
import { serialLineProblem } from '../platform/host/index.ts';
import type { Infrastructure, StartedHook } from './infrastructure.ts';
import { ioPortProblem, portsOfOption } from './ports.ts';

type Own = 'clock' | 'log' | 'database';
type Parts = Omit<ConstructorParameters<typeof Modules>[0], Own> &
  Pick<ConstructorParameters<typeof DeviceSearch>[0], 'library'>;

/** @param parts what modules and the search stand on */
export function buildField(
  { options: { clock, log, config, networks }, state: database }: Infrastructure,
  parts: Parts,
  started: StartedHook,
) {
  const modulePorts = new ModulePorts({
    database,
    log: log.child({ component: 'module-ports' }),
    fixed: portsOfOption(config.serialPorts),
    probeSerial: serialLineProblem,
    probeIo: ioPortProblem,
  });
  const modules = new Modules({ clock, log, database, ...parts });
  started('modules', () => modules.stop());
  const { library } = parts;
  const serialPorts = (): string[] => modulePorts.serial().map(({ name }) => name);
  return {
    modules,
    modulePorts,
    deviceSearch: new DeviceSearch({
      clock,
      log,
      library,
      modules,
      serialPorts,
      ...(networks && { networks }),
    }),
  };
}
